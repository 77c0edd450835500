/** Plugins as the pages read them. */
import { queryOptions } from "@tanstack/react-query";
import { api, bare, CONSOLE_HEADER, data, Failed, failedBy, type Schemas, unreachable } from "../../api/client";

export type Plugin = Schemas["Plugin"];
export type Generation = Schemas["PluginGeneration"];
export type Staged = Schemas["StagedPlugin"];
export type LogLine = Schemas["PluginLogLine"];

export const pluginsQuery = queryOptions({
  queryKey: ["plugins"],
  queryFn: () => data<Plugin[]>(api.GET("/api/v1/plugins")),
  // The figures change with every call.
  refetchInterval: 10_000,
});

export const pluginQuery = (name: string) => queryOptions({
  queryKey: ["plugins", name],
  queryFn: () => data<Plugin>(api.GET("/api/v1/plugins/{name}", { params: { path: { name } } })),
  refetchInterval: 5_000,
});

export const logQuery = (name: string, isFollowed: boolean) => queryOptions({
  queryKey: ["plugins", name, "logs"],
  queryFn: () => data<LogLine[]>(api.GET("/api/v1/plugins/{name}/logs", { params: { path: { name } } })),
  refetchInterval: isFollowed ? 2_000 : false,
});

/** What staging said of a component: the server says it once, so it is kept while the window is open. */
export const stagedKey = (digest: string) => ["staged", digest];

/** The name in addresses: with the family where two families share it. */
export function addressOf(plugin: { name: string; family: string }, all: readonly { name: string }[]): string {
  return all.filter((one) => one.name === plugin.name).length > 1 ? `${plugin.family}:${plugin.name}` : plugin.name;
}

export const short = (digest: string) => digest.slice(0, 8);

export const componentUrl = (name: string, digest: string) =>
  `/api/v1/plugins/${encodeURIComponent(name)}/${encodeURIComponent(digest)}`;

/** Has the server check a component that it holds once more; staging the same bytes changes nothing. */
export async function checkAgain(name: string, digest: string): Promise<Staged> {
  const component = await bare<Blob>(api.GET("/api/v1/plugins/{name}/{digest}", {
    params: { path: { name, digest } }, parseAs: "blob",
  }) as never);
  return stage(component, () => undefined).answer;
}

/**
 * Uploads a component. `onProgress` gets the sent bytes; `stop` ends the upload. Not by `fetch`, which does not say how far
 * an upload is.
 */
export function stage(component: Blob, onProgress: (sent: number, total: number) => void): { answer: Promise<Staged>; stop: () => void } {
  const request = new XMLHttpRequest();
  const answer = new Promise<Staged>((resolve, reject) => {
    request.open("POST", "/api/v1/plugins");
    request.setRequestHeader("Content-Type", "application/wasm");
    for (const [name, value] of Object.entries(CONSOLE_HEADER)) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => onProgress(event.loaded, event.total));
    request.addEventListener("error", () => reject(unreachable("the connection broke")));
    request.addEventListener("abort", () => reject(new Failed(0, "stopped", "", null)));
    request.addEventListener("load", () => {
      let body: unknown;
      try {
        body = JSON.parse(request.responseText);
      } catch {
        body = null;
      }
      if (request.status >= 200 && request.status < 300) return resolve((body as { data: Staged }).data);
      const id = request.getResponseHeader("X-Request-Id");
      reject(failedBy(new Response(null, { status: request.status, headers: id ? { "X-Request-Id": id } : {} }), body));
    });
    request.send(component);
  });
  return { answer, stop: () => request.abort() };
}

export interface Imports {
  /** Interfaces that only hold types or are always there. */
  free: string[];
  wasi: string[];
}

/** The imports of a component that are no permissions. */
export function sorted(imports: readonly string[], grants: readonly string[]): Imports {
  const isGrant = (name: string) => grants.includes(name.split("@")[0]!);
  const rest = imports.filter((name) => !isGrant(name));
  return { free: rest.filter((name) => !name.startsWith("wasi:")), wasi: rest.filter((name) => name.startsWith("wasi:")) };
}
