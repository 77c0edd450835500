/** The parts of a specification that a chart may have. What is not listed is left out: it would load, lead elsewhere or run. */
import { isObject } from "./results";

/** Takes over a value, or what of it may stay; undefined leaves it out. */
export type Part = (value: unknown) => unknown;

/** Why a specification is not drawn, as a key of the texts. */
export class TooMuch extends Error {
  constructor(readonly why: "rows" | "views" | "transform") {
    super(why);
  }
}

/** In pixels, and as a count. */
const NUMBER_MAX = 2_000;
const TEXT_MAX = 500;
const LIST_MAX = 1_000;
const STEP_MAX = 100;
/** In a colour, the address of a picture or a pattern. */
const ADDRESS = /url\s*\(/i;

/** Style sheets read `\75rl(` as `url(`. */
function isAddress(text: string): boolean {
  const read = text.replace(/\\([0-9a-f]{1,6})\s?/gi, (_, code: string) => {
    const point = parseInt(code, 16);
    return point <= 0x10ffff ? String.fromCodePoint(point) : "";
  });
  return ADDRESS.test(read.replace(/\\/g, ""));
}

const text: Part = (value) =>
  value === null || (typeof value === "string" && value.length <= TEXT_MAX && !isAddress(value)) ? value : undefined;
const truth: Part = (value) => (typeof value === "boolean" ? value : undefined);
/** A length, which is bounded: a picture is not larger than it asks for. */
const length: Part = (value) => (typeof value === "number" ? Math.max(-NUMBER_MAX, Math.min(NUMBER_MAX, value)) : undefined);
/** A value of the data. */
const datum: Part = (value) => (typeof value === "number" ? value : (truth(value) ?? text(value)));
const look: Part = (value) => length(value) ?? truth(value) ?? text(value);
/** A format can ask for a width of millions. */
const format: Part = (value) => (typeof value === "string" && value.length <= 40 && !/\d{3}/.test(value) ? value : undefined);

export function list(part: Part): Part {
  return (value) => (Array.isArray(value) ? value.slice(0, LIST_MAX).map(part).filter((one) => one !== undefined) : undefined);
}

const oneOf = (...parts: Part[]): Part => (value) => {
  for (const part of parts) {
    const taken = part(value);
    if (taken !== undefined) return taken;
  }
  return undefined;
};

export function members(parts: Record<string, Part>): Part {
  return (value) => {
    if (!isObject(value)) return undefined;
    const taken = Object.entries(value).map(([name, member]) => [name, Object.hasOwn(parts, name) ? parts[name]!(member) : undefined] as const);
    return Object.fromEntries(taken.filter(([, member]) => member !== undefined));
  };
}

const named = (names: string, part: Part) => Object.fromEntries(names.split(" ").map((name) => [name, part]));

const guide = oneOf(members({ ...named("title orient labelAngle grid labels ticks domain", look), format, formatType: timeOnly }), nothing);

function timeOnly(value: unknown) {
  return value === "time" || value === "number" ? value : undefined;
}

/** Null takes a guide away. */
function nothing(value: unknown) {
  return value === null ? null : undefined;
}

const scale = members({ ...named("type scheme interpolate", text), ...named("zero nice reverse", truth), domain: list(datum), range: list(text) });
const binning = oneOf(truth, members({ maxbins: (value) => (typeof value === "number" ? Math.max(1, Math.min(value, 100)) : undefined) }));
const sorting = oneOf(text, list(datum), members(named("field op order encoding", text)));
const channel: Part = members({
  ...named("field type aggregate timeUnit", text), title: text, value: look, datum, format, formatType: timeOnly, scale, sort: sorting,
  stack: look, bandPosition: length, bin: binning, axis: guide, legend: guide, header: guide,
});

const encoding = members({
  ...named("x y x2 y2 xOffset yOffset color fill stroke opacity size shape theta theta2 radius radius2 text row column facet", channel),
  ...named("tooltip detail order", oneOf(channel, list(channel))),
});

const MARKS = new Set("bar line area point circle square tick rule text arc rect trail boxplot errorbar errorband".split(" "));
const kind: Part = (value) => (typeof value === "string" && MARKS.has(value) ? value : undefined);
const looks = named(
  "color fill stroke opacity fillOpacity strokeOpacity strokeWidth size filled shape interpolate orient align baseline dx dy fontSize " +
    "fontWeight angle innerRadius outerRadius cornerRadius cornerRadiusEnd limit stack",
  look,
);
const mark = oneOf(kind, members({
  ...looks, type: kind, clip: truth, point: oneOf(truth, members(looks)), line: oneOf(truth, members(looks)),
  tooltip: oneOf(truth, members({ content: text })),
}));

const fields = list(text);
/** Comparisons of a row's fields: a function that is called, or texts that are joined, could take any time and room. */
const TOKEN = /\s|datum(?:\.\w+|\['[^'\\]*'\]|\["[^"\\]*"\])|\d[\d.]*|'[^'\\]*'|"[^"\\]*"|true|false|null|[=!]==?|[<>]=?|&&|\|\||[-!()]/g;
const comparison: Part = (value) =>
  typeof value === "string" && value.length <= TEXT_MAX && value.replace(TOKEN, "") === "" && !/[\w\])'"]\s*\(/.test(value) ? value : undefined;
const condition: Part = members({
  ...named("field timeUnit", text), ...named("equal lt lte gt gte", datum), ...named("range oneOf", list(datum)), valid: truth,
});
const steps = list(members({ op: text, field: text, as: text, param: length }));
const order = list(members(named("field order", text)));
const TRANSFORMS: Record<string, Record<string, Part>> = {
  filter: { filter: oneOf(comparison, condition) },
  fold: { fold: fields, as: fields },
  aggregate: { aggregate: steps, groupby: fields },
  joinaggregate: { joinaggregate: steps, groupby: fields },
  window: { window: steps, groupby: fields, sort: order, frame: list(oneOf(length, nothing)), ignorePeers: truth },
  stack: { stack: text, groupby: fields, offset: text, sort: order, as: oneOf(text, fields) },
  timeUnit: { timeUnit: text, field: text, as: text },
  bin: { bin: binning, field: text, as: oneOf(text, fields) },
};

/** One that may not be is not left out: without it the chart would show other values. */
const transform: Part = (value) => {
  if (!Array.isArray(value)) return undefined;
  return value.map((one: unknown) => {
    const name = isObject(one) ? Object.keys(TRANSFORMS).find((known) => Object.hasOwn(one, known)) : undefined;
    const taken = name === undefined ? undefined : members(TRANSFORMS[name]!)(one);
    if (!isObject(taken) || Object.keys(taken).length < Object.keys(one as object).length) throw new TooMuch("transform");
    return taken;
  });
};

const step: Part = (value) => (typeof value === "number" ? Math.min(value, STEP_MAX) : undefined);
const side = oneOf((value) => (value === "container" ? value : undefined), length, members({ step }));

/** What a view has beside its data and the views in it. */
export const VIEW: Record<string, Part> = {
  mark, encoding, transform, title: text, width: side, height: side, columns: length,
  facet: oneOf(channel, members({ row: channel, column: channel })),
  resolve: members(named("scale axis legend", members(named("x y xOffset yOffset color fill stroke opacity size shape theta radius", text)))),
};
