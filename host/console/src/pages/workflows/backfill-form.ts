/** The form of a backfill: its members, what is wrong with them, and what is sent. */
import type { Schemas } from "../../api/client";
import type { TEXTS } from "./texts";

export interface Form {
  mode: "range" | "list";
  startTime: string;
  endTime: string;
  dates: string;
  runMode: Schemas["RunMode"];
  parallelism: string;
  isDependent: boolean;
  isAllLevels: boolean;
  order: Schemas["ExecutionOrder"];
  failureStrategy: Schemas["FailureStrategy"];
}

export const FIRST: Form = {
  mode: "range", startTime: "", endTime: "", dates: "", runMode: "RUN_MODE_SERIAL", parallelism: "2", isDependent: false, isAllLevels: false,
  order: "DESC_ORDER", failureStrategy: "CONTINUE",
};

/** The fields that can be wrong, by the names that the server's refusals have for them. */
export const FIELDS = ["startTime", "endTime", "scheduleDateList", "expectedParallelismNumber"] as const;
export type Field = (typeof FIELDS)[number];

const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/;

const listed = (form: Form) => form.dates.split(/[\n,，]/).map((one) => one.trim()).filter(Boolean);

/** What can be said without the server, which checks all of it again. `zone` is the server's: times are in it. */
export function wrongOf(form: Form, zone: string, t: (typeof TEXTS)["en"]["backfill"]["wrong"]): Partial<Record<Field, string>> {
  const wrong: Partial<Record<Field, string>> = {};
  const today = todayIn(zone);
  const isLate = (time: string) => time.slice(0, 10) > today;
  if (form.mode === "range") {
    const { startTime, endTime } = form;
    if (startTime === "") wrong.startTime = t.missing;
    else if (isLate(startTime)) wrong.startTime = t.afterToday(startTime);
    if (endTime === "") wrong.endTime = t.missing;
    else if (isLate(endTime)) wrong.endTime = t.afterToday(endTime);
    else if (startTime > endTime) wrong.endTime = t.beforeStart;
  } else {
    const times = listed(form);
    const odd = times.find((one) => !TIME.test(one));
    const late = times.find(isLate);
    if (times.length === 0) wrong.scheduleDateList = t.noTimes;
    else if (odd !== undefined) wrong.scheduleDateList = t.noTime(odd);
    else if (late !== undefined) wrong.scheduleDateList = t.afterToday(late);
  }
  if (form.runMode === "RUN_MODE_PARALLEL" && !/^0*[1-9]\d*$/.test(form.parallelism.trim())) wrong.expectedParallelismNumber = t.parallelism;
  return wrong;
}

/** The day, `yyyy-MM-dd`. */
function todayIn(zone: string): string {
  const part = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat("en-CA", { timeZone: zone, ...options }).format(new Date());
  return `${part({ year: "numeric" })}-${part({ month: "2-digit" })}-${part({ day: "2-digit" })}`;
}

export function bodyOf(form: Form): Schemas["Backfill"] {
  return {
    mode: form.mode,
    startTime: form.mode === "range" ? form.startTime || null : null,
    endTime: form.mode === "range" ? form.endTime || null : null,
    scheduleDateList: form.mode === "list" ? listed(form).join(",") : null,
    runMode: form.runMode,
    expectedParallelismNumber: form.runMode === "RUN_MODE_PARALLEL" ? Number(form.parallelism) : null,
    complementDependentMode: form.isDependent ? "ALL_DEPENDENT" : "OFF_MODE",
    allLevelDependent: form.isDependent && form.isAllLevels,
    executionOrder: form.order,
    failureStrategy: form.failureStrategy,
    previewToken: null,
  };
}
