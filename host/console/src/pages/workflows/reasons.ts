/** The server says why it refuses a backfill in Chinese only, as its interface fixes these texts. Here they are in English. */
import { Failed } from "../../api/client";
import type { Language } from "../../i18n";

const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^工作流尚未部署$/, "The workflow is not deployed."],
  [/^工作流未上线$/, "The workflow is not online."],
  [/^补数参数不能为空$/, "The request is empty."],
  [/^补数时间范围不能为空$/, "The range needs a start and an end."],
  [/^补数时间列表不能为空$/, "The list has no time."],
  [/^补数时间范围内没有调度周期$/, "The schedule has no time in this range."],
  [/^开始时间不能晚于结束时间$/, "The start is after the end."],
  [/^补数时间不能晚于今天：(.+)$/, "$1 is after today."],
  [/^时间格式不正确：(.*)，应为 (.+)$/, "“$1” is not a time. Times are written as $2."],
  [/^时间不存在：(.+)，时区 (.+) 的时钟跳过了该时刻$/, "$1 does not exist: the clocks of $2 skip it."],
  [/^补数时间过多：一次最多 (\d+) 个$/, "Too many dates: at most $1 at a time."],
  [/^补数任务过多：日期数乘以工作流数最多 (\d+)$/, "Too many runs: dates times workflows is at most $1."],
  [/^依赖的工作流过多：一次最多 (\d+) 个$/, "Too many dependent workflows: at most $1 at a time."],
  [/^并行度必须大于 0$/, "The number side by side must be at least 1."],
  [/^(\S+) 的值不正确：(.*)，应为 (.+)$/, "$1 is “$2”; it must be one of $3."],
];

function inEnglish(text: string): string {
  const found = REASONS.find(([pattern]) => pattern.test(text));
  return found ? text.replace(found[0], found[1]) : text;
}

/** A failure in the reader's language, as far as its reason is known. */
export function inLanguage(error: unknown, language: Language): unknown {
  if (language !== "en" || !(error instanceof Failed)) return error;
  const details = error.details.map((one) => ({ ...one, message: inEnglish(one.message) }));
  return new Failed(error.status, error.code, inEnglish(error.message), error.requestId, details);
}
