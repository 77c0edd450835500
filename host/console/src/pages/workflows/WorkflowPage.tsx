import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, data } from "../../api/client";
import { useMay } from "../../api/me";
import { useChange } from "../../api/query";
import { useTexts } from "../../i18n";
import { useAddress, usePath } from "../../search";
import { Confirm } from "../../ui/confirm";
import { Button, Checkbox, Menu, type MenuEntry, Tabs } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { Facts, Failure, Loading, Page, State, Tag, Time } from "../../ui/page";
import { BackfillTab } from "./BackfillTab";
import { CopyDialog, RunDialog } from "./dialogs";
import { exportWorkflow, failedDeployment, underReview, useWorkflow, type WorkflowDetail } from "./data";
import { PublishState, RunLink } from "./parts";
import { PublicationTab } from "./PublicationTab";
import { RunsTab } from "./RunsTab";
import { ScheduleTab } from "./ScheduleTab";
import { SettingsTab } from "./SettingsTab";
import { TasksTab } from "./TasksTab";
import { TEXTS } from "./texts";
import { VersionsTab } from "./VersionsTab";
import "./style.css";

const TABS = ["tasks", "runs", "schedule", "publication", "versions", "backfill", "settings"] as const;
type TabName = (typeof TABS)[number];

export default function WorkflowPage() {
  const t = useTexts(TEXTS);
  const id = Number(usePath().id);
  const query = useWorkflow(id);
  const path = [{ to: "/workflows", label: t.workflows }];
  if (query.data) return <Loaded key={id} workflow={query.data} />;
  return (
    <Page title={t.workflow} path={path}>
      {query.error ? <Failure error={query.error} onRetry={() => void query.refetch()} /> : <Loading />}
    </Page>
  );
}

function Loaded({ workflow }: { workflow: WorkflowDetail }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const navigate = useNavigate();
  const { text, set } = useAddress();
  const [isRunning, setRunning] = useState(false);
  const [isPublishing, setPublishing] = useState(false);
  const [isCopying, setCopying] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const [withTasks, setWithTasks] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const { id } = workflow;
  const path = { params: { path: { id } } };
  const timer = useChange(
    () => data(workflow.status === "online"
      ? api.POST("/api/v1/workflows/{id}/schedule/offline", path)
      : api.POST("/api/v1/workflows/{id}/schedule/online", path)),
    [["workflows"]],
  );
  const remove = useChange(
    () => data(api.DELETE("/api/v1/workflows/{id}", { params: { path: { id }, query: { cascadeDeleteTasks: withTasks } } }) as never),
    [["tasks"], ["lineage"]],
  );
  const tab = (TABS as readonly string[]).includes(text("tab")) ? (text("tab") as TabName) : "tasks";
  const open = (name: TabName) => {
    setPublishing(false);
    set({ tab: name === "tasks" ? undefined : name, task: undefined, v1: undefined, v2: undefined, page: undefined }, true);
  };
  const isDeployed = workflow.workflowCode !== null;
  const isOnline = workflow.status === "online";
  const waiting = underReview(workflow);
  const failed = failedDeployment(workflow);
  const { latestExecution: latest } = workflow;
  const entries: MenuEntry[] = [
    ...(may("copyWorkflow") ? [{ id: "copy", label: t.copy, icon: "copy" as const, onAction: () => setCopying(true) }] : []),
    ...(may("exportWorkflow") ? [{
      id: "export", label: t.export, icon: "download" as const,
      onAction: () => {
        setError(null);
        exportWorkflow(id).catch(setError);
      },
    }] : []),
    ...(may("deleteWorkflow") ? [{ id: "delete", label: t.delete, icon: "bin" as const, isDanger: true, onAction: () => setDeleting(true) }] : []),
  ];
  return (
    <Page title={workflow.name} lead={workflow.description} path={[{ to: "/workflows", label: t.workflows }]} actions={
      <>
        {isDeployed && may(isOnline ? "takeScheduleOffline" : "bringScheduleOnline") && (workflow.schedule || isOnline) && (
          <Button isBusy={timer.isPending} icon={isOnline ? "pause" : "clock"} onPress={() => timer.mutate(undefined)}>
            {isOnline ? t.takeOffline : t.bringOnline}
          </Button>
        )}
        {may("publishWorkflow") && !waiting && workflow.tasks.length > 0 && workflow.publishStatus !== "published" && tab !== "publication" && (
          <Button kind={isDeployed ? "plain" : "primary"} onPress={() => {
            open("publication");
            setPublishing(true);
          }}>{t.publish}</Button>
        )}
        {isDeployed && may("executeWorkflow") && <Button kind="primary" icon="run" onPress={() => setRunning(true)}>{t.run}</Button>}
        <Menu label={t.actionsOf(workflow.name)} entries={entries} />
      </>
    }>
      <Failure error={error ?? timer.error} />
      <Facts facts={[
        [t.status, <State key="s" value={workflow.status} />],
        [t.publishing, (
          <span key="p" className="row">
            <PublishState value={workflow.publishStatus} />
            <span className="small">{t.versionsAre(workflow.publishedVersion, workflow.currentVersion)}</span>
          </span>
        )],
        [t.engine, workflow.schedulerEngine],
        [t.nextRun, isOnline ? <Time key="n" value={(workflow.engineSchedule ?? workflow.schedule)?.nextFireTimes[0]} /> : t.timerOff],
        [t.latestRun, latest && (
          <span key="l" className="row">
            <State value={latest.status} />
            <RunLink workflowId={id} instanceId={latest.instanceId}><Time value={latest.startTime ?? latest.createdAt} /></RunLink>
          </span>
        )],
      ]} />
      {workflow.engineState === "failed" && (
        <div className="note failure" role="status">
          <Icon name="warning" /><div><p>{t.engineRefuses}</p>{workflow.engineError && <p>{workflow.engineError}</p>}</div>
        </div>
      )}
      {workflow.engineState === "pending" && <div className="note" role="status"><Icon name="clock" /><p>{t.enginePending}</p></div>}
      {waiting && tab !== "publication" && (
        <div className="note" role="status">
          <Icon name="clock" />
          <div>
            <p>
              {t.waitsForReview(waiting.version, waiting.submittedBy)}</p><Button onPress={() => open("publication")}>{t.openPublication}
            </Button>
          </div>
        </div>
      )}
      {failed && tab !== "publication" && (
        <div className="note failure" role="status">
          <Icon name="warning" />
          <div><p>{t.deploymentFailed(failed.version)}</p><Button onPress={() => open("publication")}>{t.openPublication}</Button></div>
        </div>
      )}
      <Tabs label={workflow.name} value={tab} onChange={open} tabs={[
        { id: "tasks", title: t.tabs.tasks, content: <TasksTab workflow={workflow} /> },
        { id: "runs", title: t.tabs.runs, content: <RunsTab workflow={workflow} /> },
        { id: "schedule", title: t.tabs.schedule, content: <ScheduleTab workflow={workflow} /> },
        {
          id: "publication", content: <PublicationTab workflow={workflow} isPublishing={isPublishing} />,
          title: <>{t.tabs.publication}{waiting && <> <Tag tone="busy">1</Tag></>}</>,
        },
        { id: "versions", title: t.tabs.versions, content: <VersionsTab workflow={workflow} /> },
        ...(may("listBackfills") ? [{ id: "backfill" as const, title: t.tabs.backfill, content: <BackfillTab workflow={workflow} /> }] : []),
        { id: "settings", title: t.tabs.settings, content: <SettingsTab workflow={workflow} /> },
      ]} />
      {isRunning && <RunDialog workflow={workflow} onClose={() => setRunning(false)} />}
      {isCopying && <CopyDialog workflow={workflow} onClose={() => setCopying(false)} />}
      <Confirm title={t.deleteOf(workflow.name)} action={t.delete} isDanger isOpen={isDeleting} onClose={() => setDeleting(false)}
        {...(isDeployed ? { typed: workflow.name, typedLabel: t.typeName(workflow.name) } : {})}
        onConfirm={async () => {
          await remove.mutateAsync(undefined);
          // What was typed goes with the workflow.
          await navigate({ to: "/workflows", ignoreBlocker: true });
        }}>
        <p>{isDeployed ? t.deleteDeployed(workflow.schedulerEngine) : t.deleteDraft}</p>
        {workflow.tasks.length > 0 && (
          <Checkbox label={t.deleteTasks(workflow.tasks.length)} isSelected={withTasks} onChange={setWithTasks} />
        )}
      </Confirm>
    </Page>
  );
}
