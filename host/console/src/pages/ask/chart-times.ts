/** How times are written along an axis: years, months, days, or times of a day, by what is drawn. */

type Step = "year" | "month" | "day" | "moment" | "time";

const FORMATS: Record<Step, string> = { year: "%Y", month: "%Y-%m", day: "%Y-%m-%d", moment: "%m-%d %H:%M", time: "%H:%M" };
const STEPS: Record<string, Step> = { year: "year", yearmonth: "month", yearmonthdate: "day" };

const DAY_MS = 86_400_000;
/** A time scale has ticks between few values, which would repeat their labels: so many have one each. */
const FEW = 10;
/** Beyond so many days there would be too many ticks between them. */
const FEW_DAYS = { year: 40_000, month: 4_000, day: 150 };

/** What an axis says of its labels; null: it keeps its own, as that of weekdays. */
export function timesLook(values: readonly unknown[], timeUnit: unknown): Record<string, unknown> | null {
  if (values.length === 0) return null;
  const step = timeUnit === undefined ? stepOf(values) : STEPS[String(timeUnit).replace(/^utc/, "")];
  if (!step) return null;
  const isFew = timeUnit === undefined && new Set(values).size <= FEW && (step === "year" || step === "month" || step === "day")
    && daysOf(values) <= FEW_DAYS[step];
  return { format: FORMATS[step], ...(isFew ? { tickCount: step } : {}) };
}

function stepOf(values: readonly unknown[]): Step {
  const texts = values.map((value) => String(value).replace(/[T ]00:00(:00(\.0+)?)?Z?$/, ""));
  if (texts.every((text) => /^\d{4}(-01){0,2}$/.test(text))) return new Set(texts).size > 1 ? "year" : "day";
  if (texts.every((text) => /^\d{4}-\d\d(-01)?$/.test(text))) return new Set(texts).size > 1 ? "month" : "day";
  if (texts.every((text) => /^\d{4}-\d\d-\d\d$/.test(text))) return "day";
  const days = daysOf(values);
  return days <= 1 ? "time" : days <= FEW ? "moment" : "day";
}

/** From the first to the last. */
function daysOf(values: readonly unknown[]): number {
  const times = values.map((value) => new Date(value as string | number).getTime()).filter(Number.isFinite);
  return (times.reduce((most, time) => Math.max(most, time), -Infinity) - times.reduce((least, time) => Math.min(least, time), Infinity)) / DAY_MS;
}
