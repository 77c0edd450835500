/** What can be done with several workflows at once, and what came of it for each. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, data } from "../../api/client";
import { useMay } from "../../api/me";
import { useTexts } from "../../i18n";
import { Actions, Button, Dialog, TextField } from "../../ui/controls";
import { Failure, Tag } from "../../ui/page";
import { outdate, saveFile, type Workflow } from "./data";
import { TEXTS } from "./texts";

type Action = "online" | "offline" | "publish" | "export";

interface Outcome {
  workflowId: number;
  ok: boolean;
  error: { message: string } | null;
}

export function Batch({ workflows, onDone }: { workflows: readonly Workflow[]; onDone: () => void }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const client = useQueryClient();
  const [busy, setBusy] = useState<Action | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [comment, setComment] = useState<string | null>(null);
  const [outcomes, setOutcomes] = useState<{ action: Action; results: Outcome[]; names: Map<number, string> } | null>(null);
  const workflowIds = workflows.map((one) => one.id);

  const send = async (action: Action): Promise<Outcome[]> => {
    const body = { workflowIds };
    if (action === "online") return (await data(api.POST("/api/v1/workflows/batch/online", { body }))).results as Outcome[];
    if (action === "offline") return (await data(api.POST("/api/v1/workflows/batch/offline", { body }))).results as Outcome[];
    if (action === "publish") {
      return (await data(api.POST("/api/v1/workflows/batch/publish", { body: { workflowIds, comment: comment?.trim() || null } }))).results as Outcome[];
    }
    const { results } = await data(api.POST("/api/v1/workflows/batch/export", { body }));
    for (const one of results) if (one.data) saveFile(one.data.fileName, `${JSON.stringify(one.data.content, null, 2)}\n`);
    return results as Outcome[];
  };
  const run = async (action: Action) => {
    setBusy(action);
    setError(null);
    try {
      const results = await send(action);
      setComment(null);
      setOutcomes({ action, results, names: new Map(workflows.map((one) => [one.id, one.name])) });
      if (action !== "export") await outdate(client);
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(null);
    }
  };
  return (
    <div className="workflows-batch" role="group" aria-label={t.selected(workflows.length)}>
      <span className="strong">{t.selected(workflows.length)}</span>
      {may("bringSchedulesOnline") && <Button isBusy={busy === "online"} onPress={() => void run("online")}>{t.bringOnline}</Button>}
      {may("takeSchedulesOffline") && <Button isBusy={busy === "offline"} onPress={() => void run("offline")}>{t.takeOffline}</Button>}
      {may("publishWorkflows") && <Button onPress={() => setComment("")}>{t.submitMany}</Button>}
      {may("exportWorkflows") && <Button icon="download" isBusy={busy === "export"} onPress={() => void run("export")}>{t.export}</Button>}
      <Button kind="quiet" onPress={onDone}>{t.clearSelection}</Button>
      {comment === null && <Failure error={error} />}
      <Dialog title={t.submitMany} isOpen={comment !== null} onClose={() => setComment(null)}>
        <p>{t.submitManyLead(workflows.length)}</p>
        <TextField label={t.comment} value={comment ?? ""} onChange={setComment} autoFocus />
        <Failure error={error} />
        <Actions>
          <Button onPress={() => setComment(null)}>{t.cancel}</Button>
          <Button kind="primary" isBusy={busy === "publish"} onPress={() => void run("publish")}>{t.submit}</Button>
        </Actions>
      </Dialog>
      <Dialog title={t.outcome} isOpen={outcomes !== null} onClose={() => setOutcomes(null)}>
        <ul className="workflows-outcomes">
          {outcomes?.results.map((one) => (
            <li key={one.workflowId}>
              <Tag tone={one.ok ? "good" : "bad"}>{one.ok ? t.done : t.refused}</Tag> {outcomes.names.get(one.workflowId) ?? one.workflowId}
              {one.error && <p className="small">{one.error.message}</p>}
            </li>
          ))}
        </ul>
        <Actions><Button kind="primary" onPress={() => setOutcomes(null)}>{t.close}</Button></Actions>
      </Dialog>
    </div>
  );
}
