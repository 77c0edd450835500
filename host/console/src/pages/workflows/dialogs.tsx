/** The small dialogs: create, copy, run. */
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, data } from "../../api/client";
import { useChange } from "../../api/query";
import { useTexts } from "../../i18n";
import { Actions, Button, Dialog, Select, TextArea, TextField } from "../../ui/controls";
import { Form } from "../../ui/form";
import { errorOf, Failure } from "../../ui/page";
import { useEngines, type Workflow, type WorkflowDetail } from "./data";
import { TEXTS } from "./texts";

export function CreateDialog({ onClose }: { onClose: () => void }) {
  const t = useTexts(TEXTS);
  const navigate = useNavigate();
  const engines = useEngines().data ?? [];
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [engine, setEngine] = useState("local");
  const change = useChange(
    () => data(api.POST("/api/v1/workflows", {
      body: { name: name.trim(), description: description.trim() || null, schedulerEngine: engine },
    })),
    [["workflows"]],
  );
  const submit = () => change.mutate(undefined, {
    onSuccess: (made) => {
      onClose();
      void navigate({ to: `/workflows/${made.id}` });
    },
  });
  return (
    <Dialog title={t.create} isOpen onClose={onClose} isBusy={change.isPending}>
      <Form onSubmit={submit} isBusy={change.isPending}>
        <TextField label={t.name} value={name} onChange={setName} isRequired autoFocus maxLength={100}
          error={errorOf(change.error, "name")} />
        <TextArea label={t.description} value={description} onChange={setDescription} rows={2}
          error={errorOf(change.error, "description")} />
        {engines.length > 1 && (
          <Select label={t.engine} value={engine} onChange={setEngine}
            choices={engines.map((one) => ({ value: one.name, label: one.name }))} />
        )}
        <Failure error={change.error} shown={["name", "description"]} />
        <Actions>
          <Button isDisabled={change.isPending} onPress={onClose}>{t.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={change.isPending} isDisabled={name.trim() === ""}>{t.create}</Button>
        </Actions>
      </Form>
    </Dialog>
  );
}

export function CopyDialog({ workflow, onClose }: { workflow: Pick<Workflow, "id" | "name">; onClose: () => void }) {
  const t = useTexts(TEXTS);
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const change = useChange(
    () => data(api.POST("/api/v1/workflows/{id}/copy", { params: { path: { id: workflow.id } }, body: { name: name.trim() || null } })),
    [["workflows"], ["tasks"]],
  );
  const submit = () => change.mutate(undefined, {
    onSuccess: (made) => {
      onClose();
      void navigate({ to: `/workflows/${made.id}` });
    },
  });
  return (
    <Dialog title={t.copyOf(workflow.name)} isOpen onClose={onClose} isBusy={change.isPending}>
      <Form onSubmit={submit} isBusy={change.isPending}>
        <p>{t.copyLead}</p>
        <TextField label={t.newName} value={name} onChange={setName} autoFocus maxLength={100} hint={t.copyHint}
          error={errorOf(change.error, "name")} />
        <Failure error={change.error} shown={["name"]} />
        <Actions>
          <Button isDisabled={change.isPending} onPress={onClose}>{t.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={change.isPending}>{t.copy}</Button>
        </Actions>
      </Form>
    </Dialog>
  );
}

/** Runs the workflow once, or a part of it; leads to the run. */
export function RunDialog({ workflow, startTaskId, onClose }: {
  workflow: WorkflowDetail; startTaskId?: number | null; onClose: () => void;
}) {
  const t = useTexts(TEXTS);
  const navigate = useNavigate();
  const [start, setStart] = useState(startTaskId ? String(startTaskId) : "all");
  const [reach, setReach] = useState<"from" | "only">("from");
  const [strategy, setStrategy] = useState<"CONTINUE" | "END">("CONTINUE");
  const change = useChange(
    () => data<string>(api.POST("/api/v1/workflows/{id}/execute", {
      params: { path: { id: workflow.id } },
      body: { failureStrategy: strategy, ...(start === "all" ? {} : { startTaskId: Number(start), reach }) },
    })),
    [["executions"], ["workflows"]],
  );
  const submit = () => change.mutate(undefined, {
    onSuccess: (instanceId) => {
      onClose();
      void navigate({ to: `/workflows/${workflow.id}/runs/${encodeURIComponent(instanceId)}` });
    },
  });
  return (
    <Dialog title={t.runOf(workflow.name)} isOpen onClose={onClose} isBusy={change.isPending}>
      <p className="small">{t.runVersion(workflow.publishedVersion)}{workflow.publishStatus === "outdated" && ` ${t.runOutdated}`}</p>
      <Select label={t.runWhat} value={start} onChange={setStart} choices={[
        { value: "all", label: t.runAll },
        ...workflow.tasks.map((task) => ({ value: String(task.id), label: t.runFrom(task.taskName) })),
      ]} />
      {start !== "all" && (
        <Select label={t.reach} value={reach} onChange={setReach}
          choices={[{ value: "from", label: t.reachFrom }, { value: "only", label: t.reachOnly }]} />
      )}
      <Select label={t.failureStrategy} value={strategy} onChange={setStrategy}
        choices={[{ value: "CONTINUE", label: t.strategies.CONTINUE }, { value: "END", label: t.strategies.END }]} />
      <Failure error={change.error} />
      <Actions>
        <Button isDisabled={change.isPending} onPress={onClose}>{t.cancel}</Button>
        <Button kind="primary" icon="run" isBusy={change.isPending} onPress={submit}>{t.run}</Button>
      </Actions>
    </Dialog>
  );
}
