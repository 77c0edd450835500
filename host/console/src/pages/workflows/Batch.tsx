/** What can be done with several workflows at once, and what came of it for each. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, data } from "../../api/client";
import { useMay } from "../../api/me";
import { useTexts } from "../../i18n";
import { Actions, Button, Dialog, TextField } from "../../ui/controls";
import { Failure, Tag } from "../../ui/page";
import { outdate, saveExport, type Workflow } from "./data";
import { TEXTS } from "./texts";

type Action = "online" | "offline" | "publish" | "export";

interface Outcome {
  workflowId: number;
  ok: boolean;
  error: { message: string } | null;
}

/** It stays while nothing is selected: an outcome may take the selected rows out of the list's filter. */
export function Batch({ workflows, onDone }: { workflows: readonly Workflow[]; onDone: () => void }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const client = useQueryClient();
  const [busy, setBusy] = useState<Action | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [comment, setComment] = useState<string | null>(null);
  // Those that the dialog asks about, whatever the list behind it shows meanwhile.
  const [submitted, setSubmitted] = useState<readonly Workflow[]>([]);
  const [outcomes, setOutcomes] = useState<{ action: Action; results: Outcome[]; names: Map<number, string> } | null>(null);

  const send = async (action: Action, workflowIds: number[]): Promise<Outcome[]> => {
    const body = { workflowIds };
    if (action === "online") return (await data(api.POST("/api/v1/workflows/batch/online", { body }))).results as Outcome[];
    if (action === "offline") return (await data(api.POST("/api/v1/workflows/batch/offline", { body }))).results as Outcome[];
    if (action === "publish") {
      return (await data(api.POST("/api/v1/workflows/batch/publish", { body: { workflowIds, comment: comment?.trim() || null } }))).results as Outcome[];
    }
    const { results } = await data(api.POST("/api/v1/workflows/batch/export", { body }));
    for (const one of results) if (one.data) saveExport(one.data);
    return results as Outcome[];
  };
  const run = async (action: Action, wanted = workflows) => {
    if (busy !== null) return;
    setBusy(action);
    setError(null);
    try {
      const results = await send(action, wanted.map((one) => one.id));
      setComment(null);
      setOutcomes({ action, results, names: new Map(wanted.map((one) => [one.id, one.name])) });
      if (action !== "export") await outdate(client);
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(null);
    }
  };
  /** For the button of an action: the others wait for its outcome. */
  const marks = (action: Action) => ({ isBusy: busy === action, isDisabled: busy !== null && busy !== action });
  return (
    <>
      {workflows.length > 0 && (
        <div className="workflows-batch" role="group" aria-label={t.selected(workflows.length)}>
          <span className="strong">{t.selected(workflows.length)}</span>
          {may("bringSchedulesOnline") && <Button {...marks("online")} onPress={() => void run("online")}>{t.bringOnline}</Button>}
          {may("takeSchedulesOffline") && <Button {...marks("offline")} onPress={() => void run("offline")}>{t.takeOffline}</Button>}
          {may("publishWorkflows") && (
            <Button isDisabled={busy !== null} onPress={() => {
              setSubmitted(workflows);
              setError(null);
              setComment("");
            }}>{t.submitMany}</Button>
          )}
          {may("exportWorkflows") && <Button icon="download" {...marks("export")} onPress={() => void run("export")}>{t.export}</Button>}
          <Button kind="quiet" isDisabled={busy !== null} onPress={onDone}>{t.clearSelection}</Button>
          {comment === null && <Failure error={error} />}
        </div>
      )}
      <Dialog title={t.submitMany} isOpen={comment !== null} onClose={() => setComment(null)} isBusy={busy === "publish"}>
        <p>{t.submitManyLead(submitted.length)}</p>
        <TextField label={t.comment} value={comment ?? ""} onChange={setComment} autoFocus isDisabled={busy === "publish"} />
        <Failure error={error} />
        <Actions>
          <Button isDisabled={busy === "publish"} onPress={() => setComment(null)}>{t.cancel}</Button>
          <Button kind="primary" isBusy={busy === "publish"} onPress={() => void run("publish", submitted)}>{t.submit}</Button>
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
    </>
  );
}
