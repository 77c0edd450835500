/** Runs and tasks of a workflow as a grid: which workflow, how many runs, and what is pressed in it. */
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button, Select } from "../../ui/controls";
import { marked } from "../../ui/marks";
import { Empty, Facts, Failure, Loaded, Section, State, Time } from "../../ui/page";
import { useChoices, useWorkflow, type WorkflowDetail } from "../workflows/data";
import { RunLink, Trigger, WorkflowLink } from "../workflows/parts";
import { WorkflowSelect } from "../workflows/WorkflowSelect";
import { BUSY_MS, fetchRun, isActive, type Run, type RunDetail, taskKey } from "./data";
import { RunTaskPanel } from "./ExecutionPanel";
import { Glyph } from "./Glyph";
import { Grid, type GridRow } from "./Grid";
import { inOrder } from "./order";
import { TEXTS } from "./texts";

const COUNTS = [10, 25, 50, 100] as const;

export function GridTab() {
  const t = useTexts(TEXTS).grid;
  const { text, set } = useAddress();
  const workflows = useChoices("");
  // Without a choice: the workflow that ran last.
  const lastRun = (one: Schemas["Workflow"]) => one.latestExecution?.createdAt ?? "";
  const ran = [...(workflows.data?.records ?? [])].sort((one, other) => lastRun(other).localeCompare(lastRun(one)));
  const id = Number(text("workflow")) || ran[0]?.id;
  return (
    <Loaded query={workflows}>
      {(page) => (page.records.length === 0 ? <Empty icon="workflow" title={t.noWorkflow}><Link to="/workflows">{t.noWorkflowLead}</Link></Empty> : (
        <>
          <div className="filters">
            <WorkflowSelect label={t.workflow} value={id ?? null}
              onChange={(workflow) => set({ workflow: workflow ?? undefined, run: undefined, task: undefined, page: undefined }, true)} />
          </div>
          {id !== undefined && <WorkflowGrid key={id} id={id} />}
        </>
      ))}
    </Loaded>
  );
}

function WorkflowGrid({ id }: { id: number }) {
  const t = useTexts(TEXTS).grid;
  const { text, number, set } = useAddress();
  const count = number("count", 25);
  const page = number("page", 1);
  const workflow = useWorkflow(id);
  const query = useQuery({
    queryKey: ["executions", "runs", id, { page, pageSize: count }],
    queryFn: () => data<Schemas["PageOfRun"]>(api.GET("/api/v1/workflows/{id}/runs", {
      params: { path: { id }, query: { pageNum: page, pageSize: count } },
    })),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (state.data?.records.some((one) => isActive(one.status)) ? BUSY_MS : 15_000),
  });
  // Oldest on the left. A run that the engine has not confirmed yet has no address.
  const runs = useMemo(
    () => (query.data?.records ?? []).filter((one): one is Run & { instanceId: string } => one.instanceId !== null).reverse(),
    [query.data],
  );
  const details = useQueries({
    queries: runs.map((run) => ({
      // Read again when the list says that the run has changed; one that has ended does not.
      queryKey: ["run-details", id, run.instanceId, run.status, run.endTime],
      queryFn: () => fetchRun(id, run.instanceId),
      staleTime: isActive(run.status) ? 0 : ("static" as const),
      refetchInterval: isActive(run.status) ? BUSY_MS : (false as const),
    })),
  });
  const loaded = details.map(({ data: detail }) => detail);
  const rows = useRows(workflow.data, loaded);
  const opened = loaded.find((one) => one?.instanceId === text("run"));
  const task = opened?.tasks.find((one) => taskKey(one) === text("task"));
  const close = () => set({ run: undefined, task: undefined }, true);
  const total = query.data?.total ?? 0;
  const failed = details.filter((one) => one.error);
  return (
    <Loaded query={query}>
      {() => (runs.length === 0 && page === 1 ? <Empty icon="run" title={t.noRuns}><WorkflowLink id={id}>{t.noRunsLead}</WorkflowLink></Empty> : (
        <div className="stack">
          <div className="row">
            <Legend />
            <span className="runs-grow" />
            <Button onPress={() => set({ page: page + 1 }, true)} isDisabled={page * count >= total}>{t.older}</Button>
            <Button onPress={() => set({ page: page === 2 ? undefined : page - 1 }, true)} isDisabled={page <= 1}>{t.newer}</Button>
            <Select label={t.count} isLabelHidden value={String(count)}
              onChange={(value) => set({ count: value === "25" ? undefined : Number(value), page: undefined }, true)}
              choices={COUNTS.map((value) => ({ value: String(value), label: t.runs(value) }))} />
          </div>
          <Failure error={failed[0]?.error} onRetry={() => failed.forEach((one) => void one.refetch())} />
          <Grid runs={runs} rows={rows} details={loaded} run={text("run")} task={text("task")}
            onPress={(run, pressed) => {
              if (run === text("run") && (pressed ?? "") === text("task")) close();
              else set({ run, task: pressed ?? undefined }, true);
            }} />
          {opened && task && <RunTaskPanel key={`${text("run")} ${text("task")}`} task={task} isElsewhere onClose={close} />}
          {opened && !task && <RunSummary run={opened} onClose={close} />}
        </div>
      ))}
    </Loaded>
  );
}

/** The tasks of the workflow in an order in which they can run, then those that only older runs have. */
function useRows(workflow: WorkflowDetail | undefined, details: readonly (RunDetail | undefined)[]): GridRow[] {
  const ordered = useMemo(() => {
    const rows = (workflow?.tasks ?? []).map((one): GridRow => ({ key: String(one.id), name: one.taskName }));
    return inOrder(rows, workflow?.edges ?? [], (row) => row.key);
  }, [workflow]);
  const known = new Set(ordered.map((one) => one.key));
  const gone = new Map<string, GridRow>();
  for (const detail of details) {
    for (const task of detail?.tasks ?? []) {
      const key = taskKey(task);
      if (!known.has(key)) gone.set(key, { key, name: task.taskName, isGone: workflow !== undefined });
    }
  }
  return [...ordered, ...gone.values()];
}

function Legend() {
  const texts = useTexts(TEXTS);
  return (
    <ul className="runs-key" aria-label={texts.grid.legend}>
      {(["success", "failed", "running", "waiting", "paused", "killed", "not_run"] as const).map((state) => (
        <li key={state}><Glyph state={state} />{texts.states[state]}</li>
      ))}
      <li>{texts.signs}</li>
    </ul>
  );
}

function RunSummary({ run, onClose }: { run: RunDetail; onClose: () => void }) {
  const texts = useTexts(TEXTS);
  const t = texts.run;
  const format = useFormat();
  return (
    <Section title={<span className="row">{t.title(run.instanceId ?? "")} <State value={run.status} /></span>}
      actions={<Button kind="quiet" icon="close" aria-label={texts.execution.close} onPress={onClose} />}>
      <Facts facts={[
        [t.businessTime, <Time key="s" value={run.scheduleTime} />], [t.trigger, <Trigger key="t" value={run.triggerType} />],
        [t.began, <Time key="b" value={run.startTime} />], [t.took, run.durationSeconds === null ? null : format.seconds(run.durationSeconds)],
        [t.version, run.workflowVersion],
      ]} />
      {run.errorMessage && <p className="runs-wrong">{marked(run.errorMessage)}</p>}
      <p><RunLink workflowId={run.workflowId} instanceId={run.instanceId}>{t.open}</RunLink></p>
    </Section>
  );
}
