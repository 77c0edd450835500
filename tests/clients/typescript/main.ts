// A program that a user of the interface might write: every path, body and answer here is checked by the compiler
// against what the server says of itself. It fails where the server does not keep to that.

import { deepEqual, equal, ok } from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Plugin = components["schemas"]["Plugin"];

const baseUrl = process.env["LAKEPORT_URL"];
const url = process.env["DATASOURCE_URL"];
ok(baseUrl && url, "LAKEPORT_URL and DATASOURCE_URL are not set");

function data<T>(answer: { data?: { data: T }; error?: unknown }): T {
  ok(answer.data, JSON.stringify(answer.error));
  return answer.data.data;
}

const local = createClient<paths>({ baseUrl });

const plugins: Plugin[] = data(await local.GET("/api/v1/plugins"));
const sqlite = plugins.find(({ name }) => name === "sqlite");
ok(sqlite?.digest, "the bundled plugin is active");
const one = data(await local.GET("/api/v1/plugins/{name}", { params: { path: { name: sqlite.name } } }));
deepEqual(one.generations.map(({ digest }) => digest), [sqlite.digest]);

const unknown = await local.GET("/api/v1/plugins/{name}", { params: { path: { name: "no such/plugin" } } });
equal(unknown.response.status, 404);
equal(unknown.error?.error, "not_found");

const wrong = await local.GET("/api/v1/audit", { params: { query: { pageSize: 501 } } });
deepEqual(wrong.error?.details?.map(({ field }) => field), ["pageSize"]);

const shop = data(await local.POST("/api/v1/datasources", { body: { name: "shop", kind: "sqlite", url } }));
const path = { id: shop.id };
const synced = data(await local.POST("/api/v1/datasources/{id}/sync", { params: { path } }));
deepEqual([synced.state, synced.tables.new, synced.errors], ["success", 2, []]);
const sources = data(await local.GET("/api/v1/datasources", { params: { query: { pageSize: 10 } } }));
deepEqual(sources.records.map(({ name }) => name).sort(), ["lakeport", "shop"]);
const databases = data(await local.GET("/api/v1/datasources/{id}/databases", { params: { path } }));
deepEqual(databases.map(({ name }) => name), ["main"]);

// The first token ends local mode: from here on every request needs one.
const made = data(await local.POST("/api/v1/tokens", { body: { name: "typescript", role: "admin" } }));
const anonymous = await local.GET("/api/v1/me");
equal(anonymous.response.status, 401);

const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${made.token}` } });
const me = data(await client.GET("/api/v1/me"));
deepEqual([me.name, me.role], ["typescript", "admin"]);
deepEqual(data(await client.GET("/api/v1/tokens")).map(({ id }) => id), [made.id]);
const changes = data(await client.GET("/api/v1/audit", { params: { query: { operation: "createToken" } } }));
equal(changes.total, 1);

data(await client.DELETE("/api/v1/tokens/{id}", { params: { path: { id: made.id } } }));
equal((await client.GET("/api/v1/me")).response.status, 401);
