/** A form over something that stands: what was typed, and saving it, unless that has changed meanwhile. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api, isStale, tagged } from "../../api/client";
import { useTexts } from "../../i18n";
import { Button } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { useLeaving } from "../../ui/leaving";
import { Failure, Loaded } from "../../ui/page";
import { outdate, type WorkflowDetail } from "./data";
import { TEXTS } from "./texts";

/** The workflow with the tag of its state, for a form over it. */
export function WithTag({ workflow: { id }, children }: {
  workflow: WorkflowDetail;
  children: (workflow: WorkflowDetail, tag: string | undefined, onReload: () => void) => ReactNode;
}) {
  const query = useQuery({
    // Without the version: a change by somebody else, or a failed reading, leaves the form and what was typed.
    queryKey: ["workflows", id, "tagged"],
    queryFn: () => tagged<WorkflowDetail>(api.GET("/api/v1/workflows/{id}", { params: { path: { id } } })),
  });
  return <Loaded query={query}>{({ value, tag }) => children(value, tag, () => void query.refetch())}</Loaded>;
}

export interface Draft<Form> {
  form: Form;
  isChanged: boolean;
  /** It is being saved; until then the form takes no change, which would be lost. */
  isBusy: boolean;
  error: unknown;
  change: (members: Partial<Form>) => void;
  discard: () => void;
  /** Sends the form with the tag of what it was typed over. */
  save: (send: (tag: string | undefined) => Promise<unknown>) => void;
}

export function useDraft<Form>(standing: Form, tag: string | undefined): Draft<Form> {
  const client = useQueryClient();
  const [draft, setDraft] = useState<{ form: Form; tag: string | undefined } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const form = draft?.form ?? standing;
  const discard = () => {
    setDraft(null);
    setError(null);
  };
  const save = async (send: (tag: string | undefined) => Promise<unknown>) => {
    setBusy(true);
    setError(null);
    try {
      await send(draft?.tag);
      await outdate(client);
      setDraft(null);
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  return {
    form, isChanged: draft !== null, isBusy, error, discard, save: (send) => void save(send),
    change: (members) => setDraft({ form: { ...form, ...members }, tag: draft ? draft.tag : tag }),
  };
}

/** Why it was not saved, and the buttons below the form. Asks before what was typed is left. */
export function SaveRow<Form>({ draft, fields, isDisabled, onSave, onReload }: {
  draft: Draft<Form>;
  /** The members whose field says what is wrong with them. */
  fields: readonly string[];
  isDisabled: boolean;
  onSave: () => void;
  onReload: () => void;
}) {
  const t = useTexts(TEXTS);
  const leaving = useLeaving(draft.isChanged);
  const isOutdated = isStale(draft.error);
  return (
    <>
      {isOutdated ? <div className="note failure" role="alert"><Icon name="warning" /><p>{t.tasks.stale}</p></div> : <Failure error={draft.error} shown={fields} />}
      <div className="actions workflows-save">
        {isOutdated && (
          <Button onPress={() => {
            draft.discard();
            onReload();
          }}>{t.tasks.loadTheirs}</Button>
        )}
        {draft.isChanged && <Button isDisabled={draft.isBusy} onPress={draft.discard}>{t.tasks.discard}</Button>}
        <Button kind="primary" isBusy={draft.isBusy} isDisabled={isDisabled || !draft.isChanged} onPress={onSave}>{t.tasks.save}</Button>
      </div>
      {leaving}
    </>
  );
}
