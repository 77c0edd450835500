/**
 * From the JSON Schema of a plugin's settings to the fields of a form, and from what is typed to values. A plugin may
 * come from anybody, so nothing is taken for granted of its schema; the server checks the values by it in any case.
 */
import { Failed } from "../../api/client";

/** "any": the schema says it in a way that one field does not show; JSON where it is some, else text. */
export type Kind = "text" | "integer" | "number" | "choice" | "json" | "any";

export interface Setting {
  name: string;
  kind: Kind;
  title: string | null;
  description: string | null;
  isRequired: boolean;
  default: unknown;
  example: unknown;
  pattern: string | null;
  /** The values of a choice. */
  choices: readonly unknown[];
}

export interface Described {
  settings: readonly Setting[];
  /** Whether there may be members that the schema does not name. */
  allowsOthers: boolean;
}

const KINDS: Record<string, Kind> = { string: "text", integer: "integer", number: "number", boolean: "choice", object: "json", array: "json" };

export function described(schema: unknown): Described {
  const { properties, required, additionalProperties, patternProperties } = objectOf(schema);
  const names = new Set(Array.isArray(required) ? required : []);
  const settings = Object.entries(objectOf(properties)).map(([name, one]) => settingOf(name, objectOf(one), names.has(name)));
  settings.sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
  return { settings, allowsOthers: additionalProperties !== false || patternProperties !== undefined };
}

function settingOf(name: string, schema: Record<string, unknown>, isRequired: boolean): Setting {
  // An empty field is a member that is absent, and so null need not be typed.
  const types = [schema.type].flat().filter((type) => isRequired || type !== "null");
  const listed = Array.isArray(schema.enum) ? schema.enum : "const" in schema ? [schema.const] : null;
  return {
    name, isRequired,
    kind: listed ? "choice" : types.length === 1 && Object.hasOwn(KINDS, String(types[0])) ? KINDS[String(types[0])]! : "any",
    title: textOf(schema.title), description: textOf(schema.description), pattern: textOf(schema.pattern),
    default: schema.default, example: Array.isArray(schema.examples) ? schema.examples[0] : undefined,
    choices: listed ?? [true, false],
  };
}

export const WRONG = Symbol("wrong");

/** The value of what is typed; undefined: none. */
export function read(setting: Setting, text: string): unknown {
  const trimmed = text.trim();
  if (trimmed === "") return setting.isRequired ? setting.default : undefined;
  if (setting.kind === "text") return trimmed;
  const value = guessed(trimmed);
  if (setting.kind === "integer") return Number.isSafeInteger(value) ? value : WRONG;
  if (setting.kind === "number") return Number.isFinite(value) ? value : WRONG;
  return setting.kind === "json" && (typeof value !== "object" || value === null) ? WRONG : value;
}

/** A value as its field shows it. */
export function shown(setting: Setting, value: unknown): string {
  if (value === undefined || (value === null && setting.kind !== "choice")) return "";
  if (setting.kind === "choice") return JSON.stringify(value);
  return setting.kind === "text" && typeof value === "string" ? value : shownFreely(value);
}

/** The value of what the page does not know: JSON where it is some, else text. */
export function guessed(text: string): unknown {
  try {
    return JSON.parse(text.trim());
  } catch {
    return text;
  }
}

/** A text that reads as JSON keeps its quotes, so that it stays a text. */
export function shownFreely(value: unknown): string {
  return typeof value === "string" && guessed(value) === value ? value : JSON.stringify(value);
}

/** All that the server says of a member and of what is in it: there may be several things. */
export function errorsAt(error: unknown, field: string): string | undefined {
  if (!(error instanceof Failed)) return undefined;
  const said = error.details.flatMap((detail) => {
    if (detail.field === field) return [detail.message];
    return detail.field?.startsWith(`${field}.`) ? [`${detail.field.slice(field.length + 1)}: ${detail.message}`] : [];
  });
  return said.length === 0 ? undefined : said.join("; ");
}

export function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value.trim() !== "" ? value : null;
}
