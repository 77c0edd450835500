/** The execution of a task in a run: its facts, its log, and what can be done with it. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { api, data } from "../../api/client";
import { useMay } from "../../api/me";
import { useFormat, useTexts } from "../../i18n";
import { Button, IconButton } from "../../ui/controls";
import { Confirm } from "../../ui/confirm";
import { Icon } from "../../ui/icons";
import { marked } from "../../ui/marks";
import { useMounted } from "../../ui/mounted";
import { Facts, Failure, Loading, Section, State, Time } from "../../ui/page";
import { RunLink, Trigger } from "../workflows/parts";
import { type Execution, isActive, type RunTask, useFollowed } from "./data";
import { Log } from "./Log";
import { useTook } from "./took";
import { TEXTS } from "./texts";

export function ExecutionPanel({ executionId, listed, onClose, more, isElsewhere }: {
  executionId: number;
  /** Its record in the list beside it, which says when it runs again; absent where the list does not have it. */
  listed: Execution | undefined;
  onClose: () => void;
  /** Further actions. */
  more?: ReactNode;
  /** Shown outside of its run's page: leads to it. */
  isElsewhere?: boolean;
}) {
  const texts = useTexts(TEXTS);
  const t = texts.execution;
  const may = useMay();
  const format = useFormat();
  const took = useTook();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [turn, setTurn] = useState(0);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState<"retry" | "sync" | null>(null);
  const [isCancelling, setCancelling] = useState(false);
  const isMounted = useMounted();
  const { execution, parts, isComplete, logError, error: reading } = useFollowed(executionId, turn);
  const title = execution?.taskName ?? listed?.taskName ?? texts.lists.task;
  const isListedActive = listed !== undefined && isActive(listed.status);
  // Looked at when the list changes: it may learn of an end after the panel. The log of what runs goes on through all its
  // tries; only what was followed to its end begins again.
  useEffect(() => {
    if (!execution || !listed || !isComplete || isActive(execution.status)) return;
    if (isListedActive || listed.attempt > execution.attempt) setTurn((before) => before + 1);
  }, [isListedActive, listed?.attempt]); // eslint-disable-line react-hooks/exhaustive-deps
  const path = { params: { path: { id: executionId } } };
  const act = async (what: "retry" | "sync") => {
    setBusy(what);
    setError(null);
    try {
      const answered = await data<Execution>(what === "retry"
        ? api.POST("/api/v1/executions/{id}/retry", path)
        : api.POST("/api/v1/executions/{id}/sync", path));
      await client.invalidateQueries({ queryKey: ["executions"] });
      if (what === "retry") setTurn(turn + 1);
      // A retry may be a run of its own; it does not bring back a reader who has left.
      if (what === "retry" && isMounted.current && execution && (answered.instanceId !== execution.instanceId || answered.id !== executionId)) {
        await navigate({
          to: `/workflows/${answered.workflowId}/runs/${encodeURIComponent(answered.instanceId)}`,
          search: { task: answered.taskId ?? answered.taskName } as never,
        });
      }
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(null);
    }
  };
  const close = <IconButton icon="close" label={t.close} onPress={onClose} />;
  const notRead = <Failure error={reading} onRetry={() => setTurn(turn + 1)} />;
  if (!execution) {
    return <Section title={title} actions={close}>{reading ? notRead : <Loading />}</Section>;
  }
  const active = isActive(execution.status);
  return (
    <Section title={<span className="row">{title} <State value={execution.status} /></span>} actions={
      <>
        {more}
        {active && may("cancelExecution") && <Button icon="stop" onPress={() => setCancelling(true)}>{t.cancel}</Button>}
        {(execution.status === "failed" || execution.status === "killed") && may("retryExecution") && (
          <Button kind="primary" icon="refresh" isBusy={busy === "retry"} onPress={() => void act("retry")}>{t.retry}</Button>
        )}
        {active && may("syncExecution") && (
          <IconButton icon="refresh" label={t.sync} onPress={() => void act("sync")} isDisabled={busy === "sync"} />
        )}
        {close}
      </>
    }>
      <Failure error={error} />
      {notRead}
      {execution.errorMessage && (
        <div className="note failure"><Icon name="warning" /><p className="runs-message">{marked(execution.errorMessage)}</p></div>
      )}
      <Facts facts={[
        ...(isElsewhere ? [
          [t.run, (
            <RunLink key="r" workflowId={execution.workflowId} instanceId={execution.instanceId} task={String(execution.taskId ?? execution.taskName)}>
              {marked(execution.workflowName)} · {execution.instanceId}
            </RunLink>
          )] as const,
          [t.trigger, <Trigger key="t" value={execution.triggerType} />] as const,
        ] : []),
        [t.began, <Time key="b" value={execution.startTime} />],
        [t.ended, <Time key="e" value={execution.endTime} />],
        [t.took, took(execution)],
        [t.attempt, execution.attempt],
        [t.rows, execution.rowsAffected === null ? null : format.number(execution.rowsAffected)],
      ]} />
      {execution.withheld
        ? <div className="note"><Icon name="key" /><p>{t.withheld}</p></div>
        : <Log parts={parts} isFollowing={!isComplete} name={title} />}
      {logError && <p className="runs-wrong">{logError}</p>}
      <Confirm title={t.cancelOf(title)} action={texts.run.cancel} keep={texts.run.keep} isDanger isOpen={isCancelling} onClose={() => setCancelling(false)}
        onConfirm={async () => {
          await data(api.POST("/api/v1/executions/{id}/cancel", path));
          await client.invalidateQueries({ queryKey: ["executions"] });
        }}>
        <p>{t.cancelLead}</p>
      </Confirm>
    </Section>
  );
}

/** A task of a run, also one that has no execution. */
export function RunTaskPanel({ task, onClose, more, isElsewhere }: {
  task: RunTask; onClose: () => void; more?: ReactNode; isElsewhere?: boolean;
}) {
  const t = useTexts(TEXTS).execution;
  if (task.execution) {
    return (
      <ExecutionPanel key={task.execution.id} executionId={task.execution.id} listed={task.execution} onClose={onClose}
        more={more} isElsewhere={isElsewhere ?? false} />
    );
  }
  return (
    <Section title={<span className="row">{task.taskName} <State value={task.state} /></span>}
      actions={<>{more}<IconButton icon="close" label={t.close} onPress={onClose} /></>}>
      <p className="small">{task.state === "not_run" ? t.notRun : t.notBegun}</p>
    </Section>
  );
}
