/** A specification that draws and does nothing else: it loads nothing, leads nowhere, and has the page's looks. */
import { type Cell, isObject, type Table } from "./results";

export type Spec = Record<string, unknown>;

/**
 * Members through which a specification could load something, lead to another page, point outside the chart, or change
 * how it is embedded; and its own looks, which would not follow the page's.
 */
const LEFT_OUT = new Set(["$schema", "usermeta", "url", "href", "cursor", "config", "background", "element"]);
/** Members that hold rows: their names are the columns', and their texts are only shown. */
const ROWS = new Set(["values", "datasets"]);
/** In a colour, the address of a picture or a pattern. */
const ADDRESS = /url\s*\(/i;

function inert(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter(isInert).map(inert);
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([name, member]) => !LEFT_OUT.has(name) && isInert(member));
  return Object.fromEntries(members.map(([name, member]) => [name, ROWS.has(name) ? member : inert(member)]));
}

/** A parameter called `cursor` sets the pointer's picture. Style sheets read `\75rl(` as `url(`. */
function isInert(value: unknown): boolean {
  if (isObject(value)) return value.name !== "cursor";
  return typeof value !== "string" ||
    !ADDRESS.test(value.replace(/\\([0-9a-f]{1,6})\s?/gi, (_, code: string) => letterOf(code)).replace(/\\/g, ""));
}

function letterOf(code: string): string {
  const point = parseInt(code, 16);
  return point <= 0x10ffff ? String.fromCodePoint(point) : "";
}

/**
 * What is drawn of a specification. Its rows are its own; without any, they are the table's. With `isOther`, the table is
 * another result of the same columns, which replaces them.
 */
export function drawn(spec: Spec, table: Table | null, isOther: boolean): Spec {
  const safe = inert(spec) as Spec;
  const own = isObject(safe.data) && Array.isArray(safe.data.values) ? (safe.data.values as unknown[]) : null;
  if (table && (isOther || (!own && !isObject(safe.datasets)))) safe.data = { values: rowsOf(table, own?.[0]) };
  delete safe.title;
  if (isSingle(safe)) {
    safe.width = "container";
    safe.height ??= 280;
    safe.autosize = { type: "fit-x", contains: "padding" };
  }
  ofDays(safe);
  ofWholes(safe);
  return safe;
}

/** One picture, as wide as the page; several beside each other have widths of their own. */
function isSingle(spec: Spec): boolean {
  const encoding = isObject(spec.encoding) ? spec.encoding : {};
  return ("mark" in spec || "layer" in spec) && !["row", "column", "facet"].some((channel) => channel in encoding);
}

/** The rows as objects; where the specification's own had numbers, they are numbers. */
function rowsOf(table: Table, sample: unknown): Record<string, Cell>[] {
  const isNumber = (name: string) => isObject(sample) && typeof sample[name] === "number";
  return table.rows.map((row) =>
    Object.fromEntries(table.columns.map(({ name }, place) => {
      const cell = row[place] ?? null;
      return [name, typeof cell === "string" && isNumber(name) && cell !== "" && !Number.isNaN(Number(cell)) ? Number(cell) : cell];
    })));
}

/** A count has no fractions on its axis. */
function ofWholes(spec: Spec): void {
  const y = isObject(spec.encoding) && isObject(spec.encoding.y) ? spec.encoding.y : null;
  if (!y || y.type !== "quantitative" || y.aggregate || typeof y.field !== "string") return;
  const numbers = valuesOf(spec, y.field);
  if (numbers.length > 0 && numbers.every(Number.isInteger)) y.axis = { tickMinStep: 1, ...(isObject(y.axis) ? y.axis : {}) };
}

/** The values of a field, of which a specification escapes the dots. */
export function valuesOf(spec: Spec, field: string): unknown[] {
  const rows = isObject(spec.data) && Array.isArray(spec.data.values) ? (spec.data.values as unknown[]) : [];
  const name = field.replace(/\\(.)/g, "$1");
  return rows.map((row) => (isObject(row) ? row[name] : null)).filter((value) => value !== null && value !== undefined);
}

/** Days without a time are the same days everywhere: they are drawn without a time zone. */
function ofDays(spec: Spec): void {
  if (!isObject(spec.encoding)) return;
  for (const channel of Object.values(spec.encoding)) {
    if (!isObject(channel) || channel.type !== "temporal" || typeof channel.field !== "string" || channel.timeUnit) continue;
    const texts = valuesOf(spec, channel.field);
    if (texts.length > 0 && texts.every((text) => typeof text === "string" && /^\d{4}-\d\d-\d\d$/.test(text))) {
      channel.scale = { ...(isObject(channel.scale) ? channel.scale : {}), type: "utc" };
    }
  }
}
