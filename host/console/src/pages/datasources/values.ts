/** A data source as its form holds it, and as the interface takes it. */
import type { Schemas } from "../../api/client";
import { WRONG } from "../engines/settings";

export type Datasource = Schemas["Datasource"];
type Body = Omit<Schemas["CreateDatasource"], "name" | "kind"> & { name?: string; kind?: string };

export interface Values {
  name: string;
  kind: string;
  by: "url" | "parts";
  url: string;
  host: string;
  port: string;
  database: string;
  username: string;
  /** Never read from the server; empty: as it is. */
  password: string;
  readUrl: string;
  databases: string;
  /** Further options, as JSON. */
  options: string;
  /** What was typed for options that the dialect describes: the text and what it says. They come before `options`. */
  typed: Record<string, { text: string; value: unknown }>;
  isDefault: boolean;
  syncCron: string;
}

export const NEW: Values = {
  name: "", kind: "", by: "parts", url: "", host: "", port: "", database: "", username: "", password: "", readUrl: "",
  databases: "", options: "", typed: {}, isDefault: false, syncCron: "",
};

/** A data source of this kind is a file. */
export function isFile(kind: string): boolean {
  return kind === "sqlite";
}

export function valuesOf(source: Datasource): Values {
  const { databases, ...others } = source.options;
  return {
    name: source.name, kind: source.kind, by: source.host === null ? "url" : "parts", url: source.url,
    host: source.host ?? "", port: source.port === null ? "" : String(source.port), database: source.database ?? "",
    username: source.username ?? "", password: "", readUrl: source.readUrl ?? "",
    databases: Array.isArray(databases) ? databases.join(", ") : "",
    options: Object.keys(others).length === 0 ? "" : JSON.stringify(others, null, 2),
    typed: {}, isDefault: source.isDefault, syncCron: source.syncCron ?? "",
  };
}

export class BadOptions extends Error {}

/** The options that stand as JSON. */
export function othersOf(values: Values): Record<string, unknown> {
  let others: unknown = {};
  try {
    others = values.options.trim() === "" ? {} : JSON.parse(values.options);
  } catch (reason) {
    throw new BadOptions(reason instanceof Error ? reason.message : String(reason));
  }
  if (typeof others !== "object" || others === null || Array.isArray(others)) throw new BadOptions("{…}");
  return others as Record<string, unknown>;
}

function optionsOf(values: Values): Record<string, unknown> {
  const others = { ...othersOf(values) };
  for (const [name, { value }] of Object.entries(values.typed)) {
    // Its field says what is wrong.
    if (value === WRONG) throw new BadOptions(name);
    if (value === undefined) delete others[name];
    else others[name] = value;
  }
  const databases = values.databases.split(/[,，]/).map((name) => name.trim()).filter((name) => name !== "");
  return { ...others, ...(databases.length > 0 ? { databases } : {}) };
}

const orNull = (text: string) => (text.trim() === "" ? null : text.trim());

/** The members that describe the connection: with one changed, all are sent. */
function connectionOf(values: Values): Body {
  const password = values.password === "" ? {} : { password: values.password };
  if (values.by === "url" || isFile(values.kind)) return { url: values.url.trim(), ...password };
  return {
    host: orNull(values.host), port: values.port.trim() === "" ? null : Number(values.port),
    database: orNull(values.database), username: orNull(values.username), ...password,
  };
}

/** What differs from what the server has; without that, everything. */
export function bodyOf(values: Values, before: Values | null): Body {
  const body: Body = {};
  if (before === null || values.name !== before.name) body.name = values.name.trim();
  if (before === null || values.kind !== before.kind) body.kind = values.kind;
  const connection = connectionOf(values);
  if (before === null || body.kind !== undefined || JSON.stringify(connection) !== JSON.stringify(connectionOf(before))) Object.assign(body, connection);
  const options = optionsOf(values);
  if (before === null ? Object.keys(options).length > 0 : JSON.stringify(options) !== JSON.stringify(optionsOf(before))) body.options = options;
  if (values.readUrl !== (before?.readUrl ?? "")) body.readUrl = orNull(values.readUrl);
  if (values.isDefault !== (before?.isDefault ?? false)) body.isDefault = values.isDefault;
  if (values.syncCron !== (before?.syncCron ?? "")) body.syncCron = orNull(values.syncCron);
  return body;
}
