/** Lists of executions: those that run, those that failed, all of them. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button, SearchField, Select } from "../../ui/controls";
import { marked } from "../../ui/marks";
import { Empty, Loaded, State, Time } from "../../ui/page";
import { type Columns, DataTable, Pager } from "../../ui/table";
import { useTyped } from "../../ui/typed";
import { Trigger, WorkflowLink } from "../workflows/parts";
import { WorkflowSelect } from "../workflows/WorkflowSelect";
import type { Execution } from "./data";
import { ExecutionPanel } from "./ExecutionPanel";
import { Glyph } from "./Glyph";
import { useTook } from "./took";
import { TEXTS } from "./texts";

const STATUSES = ["pending", "running", "success", "failed", "killed", "paused"] as const;
const TRIGGERS = ["manual", "schedule", "backfill"] as const;
/** As many as the server gives at once: the filters look through these. */
const MOST = 500;

type ListQuery = { data: Execution[] | undefined; error: unknown; isPending: boolean; refetch: () => unknown };

export function RunningExecutions({ query }: { query: ListQuery }) {
  const t = useTexts(TEXTS).lists;
  return <Listed query={query} empty={<Empty icon="run" title={t.noneRunning}>{t.noneRunningLead}</Empty>} />;
}

export function FailedExecutions() {
  const t = useTexts(TEXTS).lists;
  const query = useQuery({
    queryKey: ["executions", "failed"],
    queryFn: () => data<Execution[]>(api.GET("/api/v1/executions/failed", { params: { query: { limit: MOST } } })),
    refetchInterval: 15_000,
  });
  return <Listed query={query} empty={<Empty icon="check" title={t.noneFailed} />} />;
}

/** All executions, or those of a task; the filters look through a page of them, which is as long as it may be. */
export function AllExecutions() {
  const t = useTexts(TEXTS).lists;
  const { text, number, set } = useAddress();
  const page = number("page", 1);
  const workflowId = Number(text("workflow"));
  const taskId = Number(text("taskId"));
  const query = useQuery({
    queryKey: ["executions", "history", { page, taskId }],
    queryFn: () => data<Schemas["PageOfExecution"]>(api.GET("/api/v1/executions/history", {
      params: { query: { pageNum: page, pageSize: MOST, ...(taskId > 0 ? { taskId } : {}) } },
    })),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  });
  const tasks = useQuery({
    queryKey: ["tasks", "choices", workflowId],
    queryFn: () => data<Schemas["PageOfTask"]>(api.GET("/api/v1/tasks", { params: { query: { pageSize: MOST, workflowId } } })),
    enabled: workflowId > 0,
  });
  const format = useFormat();
  const total = query.data?.total ?? 0;
  return (
    <Listed query={{ ...query, data: query.data?.records }} empty={<Empty icon="run" title={t.none}>{t.noneLead}</Empty>}
      isTaskFiltered={taskId > 0}
      more={workflowId > 0 && (
        <Select label={t.task} value={taskId > 0 ? String(taskId) : "any"}
          onChange={(value) => set({ taskId: value === "any" ? undefined : Number(value), page: undefined }, true)}
          choices={[{ value: "any", label: t.any }, ...(tasks.data?.records ?? []).map((one) => ({ value: String(one.id), label: one.taskName }))]} />
      )}
      note={total > MOST ? t.filterOfPage(format.number(MOST), format.number(total)) : undefined}
      foot={<Pager page={page} pageSize={MOST} total={total} onChange={(next) => set({ page: next === 1 ? undefined : next }, true)} />} />
  );
}

function Listed({ query, empty, more, note, foot, isTaskFiltered }: {
  query: ListQuery; empty: ReactNode; more?: ReactNode; note?: string | undefined; foot?: ReactNode; isTaskFiltered?: boolean;
}) {
  const t = useTexts(TEXTS).lists;
  const texts = useTexts(TEXTS);
  const took = useTook();
  const { text, set } = useAddress();
  const [typed, setTyped] = useTyped("q");
  const wanted = { q: text("q").trim().toLowerCase(), workflow: text("workflow"), status: text("status"), trigger: text("trigger") };
  const rows = useMemo(
    () => (query.data ?? []).filter((one) =>
      (wanted.workflow === "" || String(one.workflowId) === wanted.workflow)
      && (wanted.status === "" || one.status === wanted.status)
      && (wanted.trigger === "" || one.triggerType === wanted.trigger)
      && (wanted.q === "" || `${one.taskName} ${one.workflowName} ${one.errorMessage ?? ""} ${one.instanceId}`.toLowerCase().includes(wanted.q))),
    [query.data, wanted.q, wanted.workflow, wanted.status, wanted.trigger],
  );
  // It stays open when its row leaves the list, as one that has ended leaves the list of those that run.
  const opened = Number(text("execution"));
  const isNarrowed = Object.values(wanted).some((one) => one !== "") || isTaskFiltered;
  const open = (id: number) => set({ execution: opened === id ? undefined : id }, true);
  const columns: Columns<Execution> = [
    {
      header: t.state, accessorFn: (one) => one.status,
      cell: ({ row }) => <span className="row runs-state"><Glyph state={row.original.status} /><State value={row.original.status} /></span>,
    },
    {
      header: t.task, accessorFn: (one) => one.taskName,
      cell: ({ row: { original: one } }) => (
        <button type="button" className="runs-link" aria-expanded={opened === one.id} onClick={() => open(one.id)}>{marked(one.taskName)}</button>
      ),
    },
    {
      header: t.workflow, accessorFn: (one) => one.workflowName,
      cell: ({ row: { original: one } }) => <span className="runs-name"><WorkflowLink id={one.workflowId}>{one.workflowName}</WorkflowLink></span>,
    },
    { header: t.trigger, accessorFn: (one) => one.triggerType, cell: ({ row }) => <Trigger value={row.original.triggerType} /> },
    { header: t.businessTime, accessorFn: (one) => one.scheduleTime ?? "", cell: ({ row }) => <Time value={row.original.scheduleTime} /> },
    { header: t.began, accessorFn: (one) => one.startTime ?? "", cell: ({ row }) => <Time value={row.original.startTime} /> },
    {
      header: t.took, accessorFn: (one) => one.durationSeconds ?? 0,
      cell: ({ row: { original: one } }) => took(one) ?? "–",
    },
    { header: t.attempt, accessorFn: (one) => one.attempt },
    {
      header: t.error, accessorFn: (one) => one.errorMessage ?? "",
      cell: ({ row }) => <span className="runs-clamp" title={row.original.errorMessage ?? ""}>{marked(row.original.errorMessage)}</span>,
    },
  ];
  const filter = (change: Record<string, string | undefined>) => set({ ...change, page: undefined }, true);
  const choice = (value: string) => (value === "any" ? "" : value);
  return (
    <>
      <div className="filters">
        <SearchField label={t.search} value={typed} onChange={setTyped} />
        <WorkflowSelect label={t.workflow} value={Number(wanted.workflow) || null} any={t.any}
          onChange={(id) => filter({ workflow: id === null ? "" : String(id), taskId: undefined })} />
        {more}
        {more !== undefined && (
          <Select label={t.state} value={wanted.status || "any"} onChange={(value) => filter({ status: choice(value) })}
            choices={[{ value: "any", label: t.any }, ...STATUSES.map((value) => ({ value, label: texts.states[value] }))]} />
        )}
        <Select label={t.trigger} value={wanted.trigger || "any"} onChange={(value) => filter({ trigger: choice(value) })}
          choices={[{ value: "any", label: t.any }, ...TRIGGERS.map((value) => ({ value, label: texts.triggers[value] }))]} />
      </div>
      {note && isNarrowed && <p className="small">{note}</p>}
      {opened > 0 && (
        <ExecutionPanel key={opened} executionId={opened} listed={query.data?.find((one) => one.id === opened)}
          isElsewhere onClose={() => open(opened)} />
      )}
      <Loaded query={query}>
        {() => (
          <DataTable label={t.label} rows={rows} columns={columns} keyOf={(one) => String(one.id)} empty={isNarrowed
            ? (
              <Empty icon="search" title={t.noMatch}>
                <Button onPress={() => set({ q: "", workflow: "", status: "", trigger: "", taskId: undefined }, true)}>{t.clearFilters}</Button>
              </Empty>
            )
            : empty} />
        )}
      </Loaded>
      {foot}
    </>
  );
}
