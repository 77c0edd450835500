/** What the pages of tables ask the server, and the answers that carry more than their data. */
import { api, data, Failed, failedBy, type Schemas, type Tagged, tagged, unreachable } from "../../api/client";
import { queries } from "../../api/query";

export { ifMatch, isStale, type Tagged, tagged } from "../../api/client";

export type Table = Schemas["Table"];
export type TableDetail = Schemas["TableDetail"];
export type Field = Schemas["Field"];
export type TableChange = Schemas["TableChange"];
export type DryRun = Schemas["DryRun"];
export type Statement = Schemas["Statement"];

interface Answered<T> {
  data?: { data: T };
  error?: unknown;
  response: Response;
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

/** The tasks that write or read a table, the newest first. There may be more than these: `total` says how many. */
export const tasksOfQuery = (tableId: number) => ({
  queryKey: ["tasks", "of-table", tableId],
  queryFn: () => data(api.GET("/api/v1/tasks", { params: { query: { tableId, pageSize: 500 } } })),
});

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
