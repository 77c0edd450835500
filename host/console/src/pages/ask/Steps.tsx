/** How a question is answered: thoughts and calls of tools. Open while it goes on, folded afterwards. */
import { type ReactNode, useEffect, useState } from "react";
import { useFormat, useTexts } from "../../i18n";
import { Icon } from "../../ui/icons";
import { Code, Failure, Loading } from "../../ui/page";
import { type Seen, type Step, stepsOf } from "./events";
import { Prose } from "./Prose";
import { ResultTable } from "./ResultTable";
import { isObject, tableOf } from "./results";
import { TEXTS } from "./texts";
import { type AgentTask, useTask } from "./topics";

/** Characters that are shown of what a tool got or gave. */
const SHOWN_MAX = 20_000;
const OF_TABLE = new Set(["columns", "rows", "row_count"]);

export function Steps({ seen, isRunning, isOpen, onToggle, task, topicId, taskId, children }: {
  seen: Seen & { retry: () => void }; isRunning: boolean; isOpen: boolean; onToggle: () => void;
  task: AgentTask | undefined; topicId: string; taskId: string;
  /** Beside the head: the button that stops it. */
  children?: ReactNode;
}) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const steps = stepsOf(seen.events);
  const calls = steps.filter((step) => step.kind === "call").length;
  const [first, last] = [seen.events[0], seen.events.at(-1)];
  const took = first && last ? (Date.parse(last.created_at) - Date.parse(first.created_at)) / 1000 : 0;
  return (
    <section className="ask-steps">
      <div className="ask-steps-head">
        <button type="button" className="ask-fold" aria-expanded={isOpen} onClick={onToggle}>
          <Icon name={isOpen ? "down" : "right"} />
          {isRunning ? <Working steps={steps} task={task} /> : (
            <span>{steps.length === 0 ? t.how : `${t.steps(calls)} · ${format.seconds(Math.max(took, 0.01))}`}</span>
          )}
        </button>
        {children}
      </div>
      {seen.phase === "lost" && <p className="small" role="status">{t.lost}</p>}
      {isOpen && (
        <div className="ask-steps-list">
          {steps.map((step) =>
            step.kind === "thought" ? <div key={step.event.seq} className="ask-thought"><Prose text={step.event.content} /></div>
              : <ToolCall key={step.call.call_id} step={step} isRunning={isRunning} />)}
          {steps.length === 0 && !isRunning && seen.phase !== "ended" && <Loading lines={2} />}
          {steps.length === 0 && !isRunning && seen.phase === "ended" && !seen.error && <p className="small">{t.noSteps}</p>}
          <Failure error={seen.error} onRetry={seen.retry} />
          {!isRunning && <Used topicId={topicId} taskId={taskId} />}
        </div>
      )}
    </section>
  );
}

/** What it does now, and for how long. */
function Working({ steps, task }: { steps: readonly Step[]; task: AgentTask | undefined }) {
  const t = useTexts(TEXTS);
  const since = task?.started_at ?? null;
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const begun = since ? Date.parse(since) : Date.now();
    const timer = setInterval(() => setSeconds(Math.max(0, Math.round((Date.now() - begun) / 1000))), 1_000);
    return () => clearInterval(timer);
  }, [since]);
  const last = steps.at(-1);
  const doing = !last ? (task?.status === "waiting" ? t.isQueued : t.working) : last.kind === "thought" ? last.event.content : toolName(t, last.call.tool);
  return (
    <span className="ask-working">
      <Dots />
      <span className="ask-doing" role="status">{doing}</span>
      {seconds >= 3 && <span className="small">{seconds} s</span>}
    </span>
  );
}

function Dots() {
  return <span className="ask-dots" aria-hidden="true"><i /><i /><i /></span>;
}

function toolName(t: { tools: Record<string, string> }, tool: string): string {
  return t.tools[tool] ?? tool;
}

function ToolCall({ step, isRunning }: { step: Extract<Step, { kind: "call" }>; isRunning: boolean }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const { call, result } = step;
  const tone = !result ? (isRunning ? "busy" : "faint") : result.ok ? "good" : "bad";
  return (
    <details className="ask-call">
      <summary>
        <span className={`ask-call-mark ${tone}`}>
          {result ? <Icon name={result.ok ? "check" : "warning"} /> : isRunning ? <Dots /> : <Icon name="minus" />}
        </span>
        <span className="strong">{toolName(t, call.tool)}</span>
        <code className="faint">{call.tool}</code>
        {result && <span className="small">{format.seconds(result.duration_ms / 1000)}</span>}
        {result && <span className="small ask-call-sum">{summaryOf(t, result.output, result.error?.message)}</span>}
      </summary>
      <div className="stack">
        <Given value={call.input} label={t.input} />
        {result?.error && <p className="note failure">{result.error.message}</p>}
        {result?.ok && <Given value={result.output} label={t.output} />}
      </div>
    </details>
  );
}

/** What a call brought, in a few words. */
function summaryOf(t: (typeof TEXTS)["en"], output: unknown, error: string | undefined): string {
  if (error !== undefined) return error;
  if (!isObject(output)) return "";
  const table = tableOf(output);
  if (table) return t.rows(table.rowCount, String(table.rowCount));
  if (Array.isArray(output.tables)) return output.tables.map((one) => (isObject(one) ? one.name : one)).slice(0, 4).join(", ");
  return "";
}

/** The input or output of a call: its SQL and its rows as such, the rest as JSON. */
function Given({ value, label }: { value: unknown; label: string }) {
  const table = tableOf(value);
  const sql = isObject(value) && typeof value.sql === "string" ? value.sql : null;
  const rest = isObject(value)
    ? Object.fromEntries(Object.entries(value).filter(([name]) => name !== "sql" && !(table && OF_TABLE.has(name))))
    : value;
  const isRest = isObject(rest) ? Object.keys(rest).length > 0 : rest !== null && rest !== undefined;
  const text = isRest ? JSON.stringify(rest, null, 2) : "";
  return (
    <>
      {sql !== null && <Code>{sql}</Code>}
      {table && <ResultTable table={table} name={label} />}
      {isRest && (sql !== null || table !== null || text.length > 2_000 ? (
        <details className="ask-rest"><summary className="small">{label}</summary><Code>{shortened(text)}</Code></details>
      ) : <div><p className="small">{label}</p><Code>{shortened(text)}</Code></div>)}
    </>
  );
}

function shortened(text: string): string {
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)} …` : text;
}

/** The model that answered, and what it used. */
function Used({ topicId, taskId }: { topicId: string; taskId: string }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const task = useTask(topicId, taskId, true).data;
  if (!task) return null;
  const { usage, model, provider, context } = task;
  const parts = [
    provider === "offline" ? t.byRules : t.byModel(model),
    ...(usage.input_tokens + usage.output_tokens > 0 ? [t.tokens(format.number(usage.input_tokens), format.number(usage.output_tokens))] : []),
    ...(usage.cost > 0 ? [t.cost(format.number(Number(usage.cost.toPrecision(2))))] : []),
    ...(context ? [t.context(context.tables, format.bytes(context.bytes))] : []),
  ];
  return <p className="small">{parts.join(" · ")}</p>;
}
