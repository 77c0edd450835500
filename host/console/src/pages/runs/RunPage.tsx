import { useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api, data } from "../../api/client";
import { useMay } from "../../api/me";
import { useFormat, useTexts } from "../../i18n";
import { useAddress, usePath } from "../../search";
import { Confirm } from "../../ui/confirm";
import { Button } from "../../ui/controls";
import { Graph } from "../../ui/graph";
import { Icon } from "../../ui/icons";
import { marked } from "../../ui/marks";
import { Empty, Facts, Failure, Loading, Page, Progress, State, Time } from "../../ui/page";
import { RunDialog } from "../workflows/dialogs";
import { useWorkflow } from "../workflows/data";
import { Trigger } from "../workflows/parts";
import { isActive, type RunDetail, taskKey, useRun } from "./data";
import { RunTaskPanel } from "./ExecutionPanel";
import { RunTasks } from "./RunTasks";
import { useTook } from "./took";
import { TEXTS } from "./texts";
import "./style.css";

export default function RunPage() {
  const t = useTexts(TEXTS).run;
  const { id = "", instanceId = "" } = usePath();
  const query = useRun(Number(id), instanceId);
  if (query.data) return <Loaded key={`${id}/${instanceId}`} run={query.data} instanceId={instanceId} />;
  return (
    <Page title={t.title(instanceId)} path={[{ to: "/runs", label: t.runs }]}>
      {query.error ? <Failure error={query.error} onRetry={() => void query.refetch()} /> : <Loading />}
    </Page>
  );
}

function Loaded({ run, instanceId }: { run: RunDetail; instanceId: string }) {
  const t = useTexts(TEXTS).run;
  const may = useMay();
  const format = useFormat();
  const took = useTook();
  const client = useQueryClient();
  const { text, set } = useAddress();
  const workflow = useWorkflow(run.workflowId).data;
  const [busy, setBusy] = useState<"pause" | "resume" | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isCancelling, setCancelling] = useState(false);
  const [startTaskId, setStartTaskId] = useState<number | null>(null);
  const path = { params: { path: { id: run.workflowId, instanceId } } };
  const act = async (what: "pause" | "resume") => {
    setBusy(what);
    setError(null);
    try {
      await data(what === "pause"
        ? api.POST("/api/v1/workflows/{id}/runs/{instanceId}/pause", path)
        : api.POST("/api/v1/workflows/{id}/runs/{instanceId}/resume", path));
      await client.invalidateQueries({ queryKey: ["executions"] });
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(null);
    }
  };
  const select = (key: string | null) => set({ task: key ?? undefined }, true);
  const selected = run.tasks.find((one) => taskKey(one) === text("task"));
  const nodes = useMemo(
    () => run.tasks.map((task) => ({
      id: taskKey(task), label: task.taskName, state: task.state,
      note: [
        task.execution?.durationSeconds == null ? "" : format.seconds(task.execution.durationSeconds),
        (task.execution?.attempt ?? 1) > 1 ? t.attemptShort(task.execution!.attempt) : "",
      ].filter(Boolean).join(" · "),
    })),
    [run.tasks, format, t],
  );
  const edges = useMemo(() => run.edges.map((edge) => ({ source: String(edge.source), target: String(edge.target) })), [run.edges]);
  const active = isActive(run.status);
  const ended = run.tasks.filter((task) => task.execution && !isActive(task.execution.status)).length;
  // A part is run by the definition that is deployed now, if it still has the task.
  const startable = selected?.taskId != null && workflow?.workflowCode != null && workflow.tasks.some((one) => one.id === selected.taskId);
  return (
    <Page title={`${run.workflowName} · ${instanceId}`}
      path={[{ to: "/workflows", label: t.workflows }, { to: `/workflows/${run.workflowId}`, label: run.workflowName }]}
      actions={
        <>
          {(run.status === "running" || run.status === "pending") && may("pauseRun") && (
            <Button icon="pause" isBusy={busy === "pause"} onPress={() => void act("pause")}>{t.pause}</Button>
          )}
          {run.status === "paused" && may("resumeRun") && (
            <Button kind="primary" icon="run" isBusy={busy === "resume"} onPress={() => void act("resume")}>{t.resume}</Button>
          )}
          {active && may("cancelRun") && <Button kind="danger" icon="stop" onPress={() => setCancelling(true)}>{t.cancel}</Button>}
        </>
      }>
      <Failure error={error} />
      <Facts facts={[
        [t.state, <State key="s" value={run.status} />],
        [t.businessTime, run.scheduleTime === null ? t.manual : <Time key="b" value={run.scheduleTime} />],
        [t.trigger, <Trigger key="t" value={run.triggerType} />],
        [t.began, <Time key="f" value={run.startTime} />],
        [t.ended, <Time key="e" value={run.endTime} />],
        [t.took, took(run)],
        [t.version, run.workflowVersion],
        [t.engine, run.schedulerEngine],
        ...(active ? [[t.seen, <Time key="n" value={run.seenAt} />] as const] : []),
      ]} />
      {active && <Progress label={t.progress} value={ended} of={run.tasks.length} />}
      {run.errorMessage && <div className="note failure"><Icon name="warning" /><p className="runs-message">{marked(run.errorMessage)}</p></div>}
      {run.withheld && <div className="note"><Icon name="key" /><p>{t.withheld}</p></div>}
      {run.tasks.length === 0 ? <Empty icon="run" title={t.noTasks}>{active ? t.noTasksLead : ""}</Empty> : (
        <>
          <div className={selected ? "runs-parts open" : "runs-parts"}>
            <Graph label={t.graph} nodes={nodes} edges={edges} selected={selected ? taskKey(selected) : null}
              onSelect={select} height={selected ? "28rem" : "20rem"} />
            {selected && (
              <RunTaskPanel key={taskKey(selected)} task={selected} onClose={() => select(null)}
                more={startable && may("executeWorkflow") && !active && (
                <Button icon="run" onPress={() => setStartTaskId(selected.taskId)}>{t.fromHere}</Button>
              )} />
            )}
          </div>
          <RunTasks run={run} selected={selected ? taskKey(selected) : null} onSelect={select} />
        </>
      )}
      {workflow && workflow.globalParams.length > 0 && (
        <section className="section">
          <header><h2>{t.params}</h2></header>
          {run.workflowVersion !== workflow.currentVersion && <p className="small">{t.paramsLead(workflow.currentVersion)}</p>}
          <Facts facts={workflow.globalParams.map((one) => [<code key="n">{marked(one.name)}</code>, <code key="v">{marked(one.value)}</code>] as const)} />
        </section>
      )}
      <Confirm title={t.cancelOf(instanceId)} action={t.cancel} keep={t.keep} isDanger isOpen={isCancelling} onClose={() => setCancelling(false)}
        onConfirm={async () => {
          await data(api.POST("/api/v1/workflows/{id}/runs/{instanceId}/cancel", path));
          await client.invalidateQueries({ queryKey: ["executions"] });
        }}>
        <p>{t.cancelLead}</p>
      </Confirm>
      {startTaskId !== null && workflow && <RunDialog workflow={workflow} startTaskId={startTaskId} onClose={() => setStartTaskId(null)} />}
    </Page>
  );
}
