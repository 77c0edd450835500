/** Whole numbers beyond 2^53, which a number of this language would round: they stay exact as texts. */

type Parse = (text: string, reviver: (name: string, value: unknown, context?: { source?: string }) => unknown) => unknown;

/** A whole number that a number of this language cannot hold; given as a number or as its text. */
export function isLarge(value: unknown): value is string {
  return typeof value === "string" && /^-?[1-9]\d{15,39}$/.test(value) && !Number.isSafeInteger(Number(value));
}

/** A browser that does not give a number's own text rounds it, as it always did. */
export function parseExactly(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return (JSON.parse as Parse)(text, (_, value, context) =>
    typeof value === "number" && isLarge(context?.source) ? context.source : value);
}
