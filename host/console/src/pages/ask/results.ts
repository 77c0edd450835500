/** What the artifacts of an answer show together: one statement, its rows, and their chart. */
import type { Schemas } from "../../api/client";
import type { TaskEvent } from "./events";
import type { Artifact } from "./topics";

export type Cell = Schemas["ArtifactCell"];
export type Column = Schemas["ArtifactColumn"];

export interface Table {
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
  rowCount: number;
  isTruncated: boolean;
}

export interface Result {
  statement: { datasource: string; sql: string } | null;
  table: Table | null;
  spec: Record<string, unknown> | null;
  /** Artifacts of kinds that this page does not know. */
  others: readonly Artifact[];
}

/** They come in the order of the calls: the statement, its table, its chart. */
export function resultsOf(artifacts: readonly Artifact[]): Result[] {
  const results: Result[] = [];
  const open = (isTaken: (result: Result) => boolean): Result => {
    const last = results.at(-1);
    if (last && !isTaken(last)) return last;
    const result: Result = { statement: null, table: null, spec: null, others: [] };
    results.push(result);
    return result;
  };
  for (const artifact of artifacts) {
    const { kind, datasource, sql, spec } = artifact;
    const table = kind === "table" ? tableOf(artifact) : null;
    if (kind === "sql" && typeof sql === "string") {
      open((last) => last.statement !== null || last.table !== null).statement = { datasource: datasource ?? "", sql };
    } else if (table) {
      open((last) => last.table !== null || last.spec !== null).table = table;
    } else if (kind === "chart" && isObject(spec)) {
      open((last) => last.spec !== null).spec = spec;
    } else {
      const last = open(() => false);
      last.others = [...last.others, artifact];
    }
  }
  return results;
}

/** A table, from an artifact, a result or the output of a tool; null if it is none. */
export function tableOf(value: unknown): Table | null {
  if (!isObject(value) || !Array.isArray(value.columns) || !Array.isArray(value.rows)) return null;
  if (!value.columns.every((column) => isObject(column) && typeof column.name === "string") || !value.rows.every(Array.isArray)) return null;
  return {
    columns: value.columns as Column[],
    rows: value.rows as Cell[][],
    rowCount: typeof value.row_count === "number" ? value.row_count : value.rows.length,
    isTruncated: value.truncated === true,
  };
}

/** One value alone: it is shown large. */
export function isOneValue({ columns, rows, isTruncated }: Table): boolean {
  return columns.length === 1 && rows.length === 1 && !isTruncated;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The call that a result came from: its whole table is a file on the server. */
export function callOf(result: Result, events: readonly TaskEvent[]): string | null {
  const sqlOf = new Map<string, unknown>();
  for (const event of events) {
    if (event.type === "tool_call" && isObject(event.input)) sqlOf.set(event.call_id, event.input.sql);
  }
  const { statement, table } = result;
  if (!table) return null;
  const isSame = (other: Table | null) =>
    other !== null && other.rowCount === table.rowCount &&
    JSON.stringify(other.columns) === JSON.stringify(table.columns) && JSON.stringify(other.rows[0]) === JSON.stringify(table.rows[0]);
  const calls = events.filter((event) => event.type === "tool_result" && event.ok).reverse() as Extract<TaskEvent, { type: "tool_result" }>[];
  const byRows = calls.filter((call) => isSame(tableOf(call.output)));
  const found = byRows.find((call) => statement && sqlOf.get(call.call_id) === statement.sql) ?? byRows[0] ??
    calls.find((call) => statement && sqlOf.get(call.call_id) === statement.sql);
  return found?.call_id ?? null;
}

/** The tables and fields that the search of the catalogue found. */
export function foundFields(events: readonly TaskEvent[]): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const event of events) {
    if (event.type !== "tool_result" || !isObject(event.output) || !Array.isArray(event.output.tables)) continue;
    for (const table of event.output.tables as unknown[]) {
      if (!isObject(table) || typeof table.name !== "string" || !Array.isArray(table.fields)) continue;
      found[table.name] = table.fields.flatMap((field: unknown) => (isObject(field) && typeof field.name === "string" ? [field.name] : []));
    }
  }
  return found;
}

/** Columns whose numbers are names: without thousands' marks. */
const NAMED = /(^|[\s_])(id|no|nr|code|key|year|zip|phone)$|编号|年份|代码/i;

export const isNumeric = (type: string) => /int|serial|num|dec|real|float|double|money/i.test(type);

export function writesPlainly(column: Column): boolean {
  return NAMED.test(column.name);
}

/** A file for spreadsheets: comma separated, with a mark that it is UTF-8. */
export function csvOf(table: Table): string {
  const line = (cells: readonly Cell[]) => cells.map(csvCell).join(",");
  return `\uFEFF${[line(table.columns.map((column) => column.name)), ...table.rows.map(line)].join("\r\n")}\r\n`;
}

function csvCell(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  // A spreadsheet would run a text that begins so as a formula; a number is none.
  const text = /^[=+\-@\t\r]/.test(cell) && !/^[+-]?\d+(\.\d+)?$/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A name for a file, from a text. */
export function fileName(text: string, ending: string): string {
  const name = text.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 60);
  return `${name || "result"}.${ending}`;
}
