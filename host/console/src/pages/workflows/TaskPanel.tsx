/** A task: its form for those who may change it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api, data, ifMatch, isStale, type Schemas, tagged } from "../../api/client";
import { useMay } from "../../api/me";
import { useTexts } from "../../i18n";
import { Confirm } from "../../ui/confirm";
import { Button, IconButton, Select, TextField } from "../../ui/controls";
import { Editor } from "../../ui/editor";
import { Icon } from "../../ui/icons";
import { marked } from "../../ui/marks";
import { errorOf, Failure, Loading, Section } from "../../ui/page";
import { RunDialog } from "./dialogs";
import { outdate, type Task, useDatasources, useEngines, type WorkflowDetail } from "./data";
import { bodyOf, type Draft, draftOf, emptyDraft, isSame, type Kept, PRIORITIES } from "./draft";
import { TaskTables } from "./TaskTables";
import { TEXTS } from "./texts";

/** The members whose field says what is wrong with them. */
const FIELDS = ["taskName", "taskType", "datasourceId", "timeout", "retryTimes", "retryInterval", "sqlContent"].flatMap((one) => [one, `task.${one}`]);

interface Props {
  workflow: WorkflowDetail;
  /** Null: a new one. */
  task: Task | null;
  draft: Kept | null;
  onDraft: (draft: Kept | null) => void;
  /** What the latest saving of this task found. */
  warnings: readonly Schemas["TaskWarning"][];
  /** It is being saved, or has been and gives way to the task that it has become. */
  isBusy: boolean;
  /** Saves what was typed, by what sends it. */
  onSave: (sent: Kept, send: () => Promise<Schemas["SavedTaskView"]>) => void;
  onSelect: (id: string | null) => void;
}

export function TaskPanel(props: Props) {
  const { workflow, task } = props;
  const t = useTexts(TEXTS).tasks;
  // Only the export says whether a task's tables follow from its SQL. Its key has no version: the form stays while a newer
  // one is read. It is read for a new task too, so that it has it once it is saved.
  const isFromSql = useQuery({
    queryKey: ["workflows", workflow.id, "export"],
    queryFn: async () => {
      const answer = await data(api.GET("/api/v1/workflows/{id}/export-json", {
        params: { path: { id: workflow.id } },
      }) as never) as Schemas["WorkflowExport"];
      return new Map(answer.content.tasks.map((one) => [one.taskName, one.tablesFromSql]));
    },
  });
  const loaded = useQuery({
    queryKey: ["tasks", task?.id],
    queryFn: () => tagged<Task>(api.GET("/api/v1/tasks/{id}", { params: { path: { id: task!.id } } })),
    enabled: task !== null,
    staleTime: 0,
  });
  const sources = useDatasources();
  const title = task?.taskName ?? t.new;
  const close = <IconButton icon="close" label={t.close} onPress={() => props.onSelect(null)} />;
  const failed = [loaded, isFromSql, sources].filter((one) => one.error !== null);
  const failure = failed[0] && <Failure error={failed[0].error} onRetry={() => failed.forEach((one) => void one.refetch())} />;
  if (!sources.data || (task !== null && (!loaded.data || !isFromSql.data))) {
    return <Section title={title} actions={close}>{failure ?? <Loading />}</Section>;
  }
  const current = loaded.data?.value ?? task;
  const standing = current === null
    ? emptyDraft(String(sources.data.find((one) => one.isDefault)?.id ?? ""))
    : draftOf(current, isFromSql.data?.get(current.taskName) ?? true);
  return (
    <TaskForm {...props} task={current} standing={standing} tag={loaded.data?.tag} failure={failure} onReload={() => void loaded.refetch()} />
  );
}

function TaskForm({ workflow, task, draft, onDraft, onSelect, warnings, isBusy, onSave, standing, tag, failure, onReload }: Props & {
  /** The form without a change. */
  standing: Draft; tag: string | undefined; onReload: () => void;
  /** Why it may not be the latest. */
  failure: ReactNode;
}) {
  const t = useTexts(TEXTS).tasks;
  const texts = useTexts(TEXTS);
  const may = useMay();
  const client = useQueryClient();
  const sources = useDatasources().data ?? [];
  const engine = useEngines().data?.find((one) => one.name === workflow.schedulerEngine);
  const [isDeleting, setDeleting] = useState(false);
  const [isRunning, setRunning] = useState(false);

  const isReadOnly = !may(task === null ? "createTask" : "updateTask") || (task?.withheld ?? false);
  const isLocked = isReadOnly || isBusy;
  const form = draft?.form ?? standing;
  const change = (members: Partial<Draft>) => {
    if (isBusy) return;
    const next = { ...form, ...members };
    // A change is based on the task as it was when its first letter was typed.
    onDraft(task !== null && isSame(next, standing) ? null : { form: next, tag: draft === null ? tag : draft.tag });
  };
  const types = engine?.taskTypes ?? [{ name: "SQL", title: "SQL", body: "sql", needsDatasource: true, datasourceKinds: [] }];
  const type = types.find((one) => one.name === form.taskType);
  const language = type?.body === "shell" ? "shell" : type?.body === "sql" || form.taskType === "SQL" ? "sql" : "json";
  const kinds = type?.datasourceKinds ?? [];
  const fitting = sources.filter((one) => kinds.length === 0 || kinds.includes(one.kind) || String(one.id) === form.datasource);

  const isDirty = draft !== null;
  const canSave = isDirty && !isLocked && form.taskName.trim() !== "";
  const save = () => {
    if (!canSave) return;
    const body = bodyOf(form);
    onSave(draft, () => data<Schemas["SavedTaskView"]>(task === null
      ? api.POST("/api/v1/tasks", { body: { ...body, task: { ...body.task, workflowId: workflow.id } } })
      : api.PUT("/api/v1/tasks/{id}", { params: { path: { id: task.id }, header: ifMatch(draft.tag) }, body })));
  };
  const error = draft?.error;
  const isOutdated = isStale(error);
  const field = (name: string) => errorOf(error, `task.${name}`) ?? errorOf(error, name);
  return (
    <Section title={task?.taskName ?? t.new} actions={
      <>
        {task !== null && workflow.workflowCode !== null && may("executeWorkflow") && (
          <IconButton icon="run" label={t.run} onPress={() => setRunning(true)} />
        )}
        {task !== null && may("deleteTask") && <IconButton icon="bin" label={t.delete} isDisabled={isBusy} onPress={() => setDeleting(true)} />}
        <IconButton icon="close" label={t.close} onPress={() => onSelect(null)} />
      </>
    }>
      {failure}
      {task?.withheld && <div className="note"><Icon name="key" /><p>{t.withheld}</p></div>}
      {task?.unresolved && <div className="note"><Icon name="warning" /><p>{t.unresolved}</p></div>}
      <div className="workflows-form">
        <TextField label={texts.name} value={form.taskName} onChange={(taskName) => change({ taskName })} isDisabled={isLocked}
          error={field("taskName")} autoFocus={task === null} />
        <Select label={t.type} value={form.taskType} isDisabled={isLocked} {...optional("error", field("taskType"))}
          onChange={(taskType) => {
            const needsNone = types.find((one) => one.name === taskType)?.needsDatasource === false;
            change({ taskType, ...(needsNone ? { datasource: "" } : {}) });
          }}
          choices={[...types.map((one) => ({ value: one.name, label: one.name })), ...(type ? [] : [{ value: form.taskType, label: form.taskType }])]} />
        {(type?.needsDatasource ?? true) && (
          <Select label={t.datasource} value={form.datasource || "none"} isDisabled={isLocked}
            {...optional("error", field("datasourceId"))}
            onChange={(value) => change({ datasource: value === "none" ? "" : value })}
            choices={[
              ...(form.datasource === "" ? [{ value: "none", label: t.choose }] : []),
              ...fitting.map((one) => ({ value: String(one.id), label: `${one.name} (${one.kind})` })),
            ]} />
        )}
        <Select label={t.priority} value={form.priority} onChange={(priority) => change({ priority })} isDisabled={isLocked}
          choices={PRIORITIES.map((value) => ({ value, label: t.priorities[value] }))} />
        <TextField label={t.timeout} type="number" value={form.timeout} onChange={(timeout) => change({ timeout })}
          isDisabled={isLocked} error={field("timeout")} />
        <TextField label={t.retryTimes} type="number" value={form.retryTimes}
          onChange={(retryTimes) => change({ retryTimes })} isDisabled={isLocked} error={field("retryTimes")} />
        <TextField label={t.retryInterval} type="number" value={form.retryInterval}
          onChange={(retryInterval) => change({ retryInterval })} isDisabled={isLocked}
          error={field("retryInterval")} />
      </div>
      {!task?.withheld && (
        <Editor label={language === "sql" ? "SQL" : language === "shell" ? t.script : t.text} language={language}
          value={form.text} isReadOnly={isLocked}
          onChange={(text) => change({ text })} onRun={save} />
      )}
      {field("sqlContent") && <p className="workflows-wrong">{field("sqlContent")}</p>}
      <TaskTables form={form} language={language} isReadOnly={isReadOnly} onChange={change} />
      {warnings.length > 0 && (
        <div className="note" role="status">
          <Icon name="warning" />
          <div>
            <p>{t.savedWith}</p>
            <ul>
              {warnings.map((one, place) => <li key={place}>{one.line !== null && `${t.at(one.line, one.column ?? 1)} `}{marked(one.message)}</li>)}
            </ul>
          </div>
        </div>
      )}
      {isOutdated ? <div className="note failure" role="alert"><Icon name="warning" /><p>{t.stale}</p></div> : <Failure error={error} shown={FIELDS} />}
      {isOutdated && (
        <Button onPress={() => {
          onDraft(null);
          onReload();
        }}>{t.loadTheirs}</Button>
      )}
      {!isReadOnly && (
        <div className="actions workflows-save">
          {isDirty && task !== null && <Button isDisabled={isBusy} onPress={() => onDraft(null)}>{t.discard}</Button>}
          {task === null && <Button isDisabled={isBusy} onPress={() => {
            onDraft(null);
            onSelect(null);
          }}>{texts.cancel}</Button>}
          <Button kind="primary" isBusy={isBusy} isDisabled={!canSave && !isBusy}
            onPress={save}>
            {t.save}
          </Button>
        </div>
      )}
      {task !== null && (
        <Confirm title={t.deleteOf(task.taskName)} action={t.delete} isDanger isOpen={isDeleting} onClose={() => setDeleting(false)}
          onConfirm={async () => {
            await data(api.DELETE("/api/v1/tasks/{id}", { params: { path: { id: task.id } } }) as never);
            onDraft(null);
            onSelect(null);
            await outdate(client);
          }}>
          <p>{t.deleteLead}</p>
        </Confirm>
      )}
      {isRunning && <RunDialog workflow={workflow} startTaskId={task?.id ?? null} onClose={() => setRunning(false)} />}
    </Section>
  );
}

/** A property that is left out if it has no value. */
function optional<Name extends string, T>(name: Name, value: T | undefined) {
  return (value === undefined ? {} : { [name]: value }) as { [key in Name]?: T };
}
