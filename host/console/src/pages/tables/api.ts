/** What the pages of tables ask the server, and the answers that carry more than their data. */
import { api, data, Failed, failedBy, type Schemas, unreachable } from "../../api/client";
import { queries } from "../../api/query";

export type Table = Schemas["Table"];
export type TableDetail = Schemas["TableDetail"];
export type Field = Schemas["Field"];
export type Datasource = Schemas["Datasource"];
export type TableChange = Schemas["TableChange"];
export type DryRun = Schemas["DryRun"];
export type Statement = Schemas["Statement"];

interface Answered<T> {
  data?: { data: T };
  error?: unknown;
  response: Response;
}

/** A resource with the tag of the version that was read. */
export interface Tagged<T> {
  value: T;
  tag: string | undefined;
}

export async function tagged<T>(call: Promise<Answered<T>>): Promise<Tagged<T>> {
  const answered = await call.catch((reason: unknown) => {
    throw unreachable(reason);
  });
  const value = await data(Promise.resolve(answered as Answered<T> & { data: { data: T } }));
  return { value, tag: answered.response.headers.get("ETag") ?? undefined };
}

/** The header of a change that is refused if somebody else changed the resource meanwhile. */
export function ifMatch(tag: string | undefined) {
  return tag === undefined ? {} : { "If-Match": tag };
}

export function isStale(error: unknown): boolean {
  return error instanceof Failed && error.status === 412;
}

/** A physical change that failed, with the outcome of each statement. */
export class ChangeFailed extends Failed {
  constructor(failed: Failed, readonly statements: Statement[]) {
    super(failed.status, failed.code, failed.message, failed.requestId, failed.details);
  }
}

/** What a request that may change a physical table answers: the plan of a dry run, or the resource and its change. */
export interface Changed {
  statements?: Schemas["PlannedStatement"][];
  notes?: Schemas["PlanNote"][];
  change?: TableChange | null;
}

export async function changed(call: Promise<Answered<unknown>>): Promise<Changed> {
  const answered = await call.catch((reason: unknown) => {
    throw unreachable(reason);
  });
  if (answered.response.ok) return (answered.data?.data ?? {}) as Changed;
  const failed = failedBy(answered.response, answered.error);
  const statements = (answered.error as { statements?: Statement[] } | undefined)?.statements;
  throw Array.isArray(statements) ? new ChangeFailed(failed, statements) : failed;
}

export const tableQuery = (id: number) => ({
  queryKey: ["tables", id, "with-tag"],
  queryFn: () => tagged(api.GET("/api/v1/tables/{id}", { params: { path: { id } } })),
});

export const changesQuery = (id: number) => ({
  queryKey: ["tables", id, "changes"],
  queryFn: () => data(api.GET("/api/v1/tables/{id}/changes", { params: { path: { id } } })),
});

/** All data sources; there are few of them. */
export const datasourcesQuery = {
  queryKey: ["datasources", "page-of-all"],
  queryFn: () => data(api.GET("/api/v1/datasources", { params: { query: { pageSize: 500 } } })),
  staleTime: 30_000,
};

/** The data source that the server itself has; it cannot be changed, and no tables of it are listed. */
export function isBuiltIn(source: Datasource): boolean {
  return source.url === "lakeport:";
}

/** Reads a table again, past everything that is kept. */
export function reread(id: number): Promise<Tagged<TableDetail>> {
  return queries.fetchQuery({ ...tableQuery(id), staleTime: 0 });
}

/** "a, b" as tags. */
export function splitTags(text: string): string[] {
  return [...new Set(text.split(/[,，]/).map((tag) => tag.trim()).filter((tag) => tag !== ""))];
}

/** An empty text is none. */
export function orNull(text: string): string | null {
  return text.trim() === "" ? null : text.trim();
}
