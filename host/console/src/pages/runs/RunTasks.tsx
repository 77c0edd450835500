/** The tasks of a run as a table, with the time of each as a bar. */
import { useMemo } from "react";
import { useFormat, useTexts } from "../../i18n";
import { marked } from "../../ui/marks";
import { State, Time, toneOf } from "../../ui/page";
import { DataTable } from "../../ui/table";
import { type RunDetail, type RunTask, taskKey } from "./data";
import { Glyph } from "./Glyph";
import { inOrder } from "./order";
import { useTook } from "./took";
import { TEXTS } from "./texts";

export function RunTasks({ run, selected, onSelect }: { run: RunDetail; selected: string | null; onSelect: (key: string | null) => void }) {
  const t = useTexts(TEXTS).run;
  const l = useTexts(TEXTS).lists;
  const format = useFormat();
  const took = useTook();
  const rows = useMemo(() => inOrder(run.tasks, run.edges, taskKey), [run]);
  const span = spanOf(run);
  return (
    <DataTable<RunTask> label={t.tasks} rows={rows} keyOf={taskKey} columns={[
      {
        header: l.task, accessorFn: (one) => one.taskName,
        cell: ({ row: { original: one } }) => (
          <button type="button" className="runs-link" aria-pressed={taskKey(one) === selected}
            onClick={() => onSelect(taskKey(one) === selected ? null : taskKey(one))}>
            {marked(one.taskName)}
          </button>
        ),
      },
      {
        header: t.state, accessorFn: (one) => one.state,
        cell: ({ row }) => <span className="row runs-state"><Glyph state={row.original.state} /><State value={row.original.state} /></span>,
      },
      {
        header: t.began, accessorFn: (one) => one.execution?.startTime ?? "",
        cell: ({ row }) => <Time value={row.original.execution?.startTime} />,
      },
      {
        header: t.took, accessorFn: (one) => one.execution?.durationSeconds ?? 0,
        cell: ({ row: { original: { execution } } }) => (execution && took(execution)) ?? "–",
      },
      { header: t.timeline, id: "timeline", enableSorting: false, cell: ({ row: { original: one } }) => <Bar task={one} span={span} /> },
      { header: l.attempt, accessorFn: (one) => one.execution?.attempt ?? 0, cell: ({ row }) => row.original.execution?.attempt ?? "–" },
      {
        header: t.rows, accessorFn: (one) => one.execution?.rowsAffected ?? 0,
        cell: ({ row: { original: { execution } } }) => (execution?.rowsAffected == null ? "–" : format.number(execution.rowsAffected)),
      },
      {
        header: l.error, accessorFn: (one) => one.execution?.errorMessage ?? "",
        cell: ({ row }) => (
          <span className="runs-clamp" title={row.original.execution?.errorMessage ?? ""}>
            {row.original.execution?.errorMessage}
          </span>
        ),
      },
    ]} />
  );
}

interface Span {
  from: number;
  to: number;
}

/** A wall time as a number: only differences are used. */
function ms(text: string): number {
  return new Date(`${text.replace(" ", "T")}Z`).getTime();
}

function spanOf(run: RunDetail): Span | null {
  const times = run.tasks.flatMap(({ execution }) => [execution?.startTime, execution?.endTime]).concat(run.startTime, run.endTime)
    .flatMap((one) => (one ? [ms(one)] : []));
  // What runs ends, for the bar, when the engine was last asked.
  if (run.seenAt && run.endTime === null) times.push(ms(run.seenAt));
  return times.length < 2 ? null : { from: Math.min(...times), to: Math.max(...times) };
}

function Bar({ task, span }: { task: RunTask; span: Span | null }) {
  const start = task.execution?.startTime;
  if (!start || !span || span.to === span.from) return null;
  const length = span.to - span.from;
  const from = ms(start);
  const to = task.execution?.endTime ? ms(task.execution.endTime) : span.to;
  return (
    <span className="runs-time" aria-hidden="true">
      <span className={toneOf(task.state)}
        style={{ insetInlineStart: `${(100 * (from - span.from)) / length}%`, inlineSize: `${Math.max(1, (100 * (to - from)) / length)}%` }} />
    </span>
  );
}
