/** What can be done with a topic: rename it, change what it may use, delete it. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, bare, type Schemas } from "../../api/client";
import { useMay } from "../../api/me";
import { useChange } from "../../api/query";
import { useTexts } from "../../i18n";
import { Confirm } from "../../ui/confirm";
import { Actions, Button, Dialog, Menu, TextField } from "../../ui/controls";
import { Form } from "../../ui/form";
import { errorOf, Failure } from "../../ui/page";
import { Options } from "./Options";
import { keepDraft } from "./send";
import { TEXTS } from "./texts";
import type { Topic } from "./topics";

export function TopicMenu({ topic, isHere }: { topic: Topic; /** The page shows this topic. */ isHere: boolean }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const navigate = useNavigate();
  const client = useQueryClient();
  const [dialog, setDialog] = useState<"rename" | "options" | "delete" | null>(null);
  const close = () => setDialog(null);
  const remove = async () => {
    await bare(api.DELETE("/api/v1/nl2sql/topics/{topic_id}", { params: { path: { topic_id: topic.topic_id } } }));
    keepDraft(topic.topic_id, "");
    if (isHere) await navigate({ to: "/ask" });
    client.removeQueries({ queryKey: ["topics", topic.topic_id] });
    client.removeQueries({ queryKey: ["messages", topic.topic_id] });
    await client.invalidateQueries({ queryKey: ["topics"] });
  };
  return (
    <>
      <Menu label={t.topicActions(topic.title)} entries={[
        ...(may("updateTopic") ? [
          { id: "rename", label: t.rename, icon: "edit" as const, onAction: () => setDialog("rename") },
          { id: "options", label: t.options, icon: "settings" as const, onAction: () => setDialog("options") },
        ] : []),
        ...(may("deleteTopic")
          ? [{ id: "delete", label: t.remove, icon: "bin" as const, isDanger: true, onAction: () => setDialog("delete") }]
          : []),
      ]} />
      {dialog === "rename" && <Rename topic={topic} onClose={close} />}
      {dialog === "options" && <Change topic={topic} onClose={close} />}
      <Confirm title={t.deleteTitle(topic.title)} action={t.remove} isDanger isOpen={dialog === "delete"} onClose={close} onConfirm={remove}>
        <p>{t.deleteText}</p>
      </Confirm>
    </>
  );
}

function useUpdate(topic: Topic) {
  return useChange(
    (body: Schemas["UpdateTopic"]) =>
      bare(api.PUT("/api/v1/nl2sql/topics/{topic_id}", { params: { path: { topic_id: topic.topic_id } }, body })),
    [["topics"]],
  );
}

function Rename({ topic, onClose }: { topic: Topic; onClose: () => void }) {
  const t = useTexts(TEXTS);
  const [title, setTitle] = useState(topic.title);
  const update = useUpdate(topic);
  const save = () => update.mutate({ title: title.trim() }, { onSuccess: onClose });
  return (
    <Dialog title={t.rename} isOpen isBusy={update.isPending} onClose={onClose}>
      <Form isBusy={update.isPending} onSubmit={save}>
        <TextField label={t.topicTitle} value={title} onChange={setTitle} error={errorOf(update.error, "title")} maxLength={500} isRequired autoFocus />
        <Failure error={update.error} shown={["title"]} />
        <Actions>
          <Button isDisabled={update.isPending} onPress={onClose}>{t.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={update.isPending} isDisabled={title.trim() === ""}>{t.save}</Button>
        </Actions>
      </Form>
    </Dialog>
  );
}

function Change({ topic, onClose }: { topic: Topic; onClose: () => void }) {
  const t = useTexts(TEXTS);
  const [choices, setChoices] = useState({ datasources: topic.datasources, model: topic.model });
  const update = useUpdate(topic);
  return (
    <Dialog title={t.options} isOpen isBusy={update.isPending} onClose={onClose}>
      <Options value={choices} onChange={setChoices} />
      <Failure error={update.error} />
      <Actions>
        <Button isDisabled={update.isPending} onPress={onClose}>{t.cancel}</Button>
        <Button kind="primary" isBusy={update.isPending} isDisabled={choices.datasources?.length === 0}
          onPress={() => update.mutate(choices, { onSuccess: onClose })}>{t.save}</Button>
      </Actions>
    </Dialog>
  );
}
