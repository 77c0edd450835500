/** A specification that draws and does nothing else: it loads nothing, leads nowhere, is bounded, and has the page's looks. */
import { list, members, type Part, TooMuch, VIEW } from "./chart-parts";
import { timesLook } from "./chart-times";
import { type Cell, isObject, type Table } from "./results";

export type Spec = Record<string, unknown>;

const ROWS_MAX = 5_000;
const VIEWS_MAX = 40;
/** Each field of a fold makes every row again. */
const FOLDED_MAX = 20;
const TRANSFORMS_MAX = 20;
/** Joined by others, or below them. */
const VIEWS = ["layer", "hconcat", "vconcat", "concat"] as const;

const rows: Part = (value) => {
  if (!Array.isArray(value)) return undefined;
  if (value.length > ROWS_MAX) throw new TooMuch("rows");
  return value;
};

const dataOf: Part = (value) => {
  if (!isObject(value)) return undefined;
  if ("sequence" in value) throw new TooMuch("rows");
  const taken = members({ values: rows, name: (name) => (typeof name === "string" ? name : undefined) })(value) as Spec;
  return Object.keys(taken).length > 0 ? taken : undefined;
};

const datasetsOf: Part = (value) => (isObject(value) ? members(Object.fromEntries(Object.keys(value).map((name) => [name, rows])))(value) : undefined);

const viewOf: Part = (value) =>
  members({
    ...VIEW, data: dataOf, datasets: datasetsOf, spec: viewOf, ...Object.fromEntries(VIEWS.map((name) => [name, list(viewOf)])),
  })(value);

/** All views, the outer ones first. */
function viewsIn(spec: Spec): Spec[] {
  const inner = [spec.spec, ...VIEWS.flatMap((name) => spec[name] ?? [])].filter(isObject);
  return [spec, ...inner.flatMap(viewsIn)];
}

/** Throws for a specification that would take the page's time or room. */
function bounded(spec: Spec): void {
  const views = viewsIn(spec);
  const tables = views.flatMap((view) => [isObject(view.data) ? view.data.values : null, ...(isObject(view.datasets) ? Object.values(view.datasets) : [])]);
  const all = tables.filter(Array.isArray).flat() as unknown[];
  if (all.length > ROWS_MAX) throw new TooMuch("rows");
  const transforms = views.flatMap((view) => (Array.isArray(view.transform) ? view.transform : [])) as Spec[];
  const folds = transforms.filter((one) => Array.isArray(one.fold));
  if (transforms.length > TRANSFORMS_MAX || folds.length > 1 || folds.some((one) => (one.fold as unknown[]).length > FOLDED_MAX)) throw new TooMuch("transform");
  let count = views.length;
  for (const facet of views.flatMap(facetsOf)) {
    // Another transform could make values for it that no row has.
    if (!transforms.every((one) => "filter" in one)) throw new TooMuch("views");
    count *= new Set(typeof facet.field === "string" ? valuesIn(all, facet.field).map(String) : []).size || Infinity;
  }
  if (count > VIEWS_MAX) throw new TooMuch("views");
}

function facetsOf({ encoding, facet }: Spec): Spec[] {
  const { row, column, facet: within } = isObject(encoding) ? encoding : {};
  const outer = isObject(facet) ? (("field" in facet) ? [facet] : [facet.row, facet.column]) : [];
  return [row, column, within, ...outer].filter(isObject);
}

/**
 * What is drawn of a specification. Its rows are its own; without any, they are the table's. With `isOther`, the table is
 * another result of the same columns, which replaces them. Throws `TooMuch`.
 */
export function drawn(spec: Spec, table: Table | null, isOther: boolean): Spec {
  const safe = viewOf(spec) as Spec;
  const own = isObject(safe.data) && Array.isArray(safe.data.values) ? (safe.data.values as unknown[]) : null;
  if (table && (isOther || (!own && !isObject(safe.datasets)))) safe.data = { values: rowsOf(table, own?.[0]) };
  bounded(safe);
  delete safe.title;
  if (isSingle(safe)) {
    safe.width = "container";
    safe.height ??= 280;
    safe.autosize = { type: "fit-x", contains: "padding" };
  }
  ofDays(safe);
  ofTimes(safe);
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
  return valuesIn(isObject(spec.data) && Array.isArray(spec.data.values) ? spec.data.values : [], field);
}

function valuesIn(rows: readonly unknown[], field: string): unknown[] {
  const name = field.replace(/\\(.)/g, "$1");
  return rows.map((row) => (isObject(row) ? row[name] : null)).filter((value) => value !== null && value !== undefined);
}

/** Days and months without a time are the same everywhere: they are drawn without a time zone. */
function ofDays(spec: Spec): void {
  if (!isObject(spec.encoding)) return;
  for (const channel of Object.values(spec.encoding)) {
    if (!isObject(channel) || channel.type !== "temporal" || typeof channel.field !== "string" || channel.timeUnit) continue;
    const texts = valuesOf(spec, channel.field);
    if (texts.length > 0 && texts.every((text) => typeof text === "string" && /^\d{4}-\d\d(-\d\d)?$/.test(text))) {
      channel.scale = { ...(isObject(channel.scale) ? channel.scale : {}), type: "utc" };
    }
  }
}

/** Times along an axis are written as everywhere else, whatever the specification says of it. */
function ofTimes(spec: Spec): void {
  const layers = Array.isArray(spec.layer) ? (spec.layer as unknown[]) : [];
  for (const { encoding } of [spec, ...layers].filter(isObject)) {
    if (!isObject(encoding)) continue;
    for (const channel of [encoding.x, encoding.y]) {
      if (!isObject(channel) || channel.type !== "temporal" || typeof channel.field !== "string" || channel.axis === null) continue;
      const look = timesLook(valuesOf(spec, channel.field), channel.timeUnit);
      if (!look) continue;
      const { labelExpr, formatType, ...axis } = isObject(channel.axis) ? channel.axis : {};
      channel.axis = { ...axis, ...look };
    }
  }
}
