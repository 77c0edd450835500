/** A text that is edited where it stands. What was typed stays when the server refuses it, also when others were faster. */
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { useTexts } from "../../i18n";
import { Button, IconButton, TextArea, TextField } from "../../ui/controls";
import { Form } from "../../ui/form";
import { useLeaving } from "../../ui/leaving";
import { Failure } from "../../ui/page";
import { isStale } from "./api";
import { TABLE_TEXTS } from "./texts-table";

/** What stands on the server, with the tag to change it by. */
export interface Standing {
  text: string;
  tag: string | undefined;
}

interface Edited {
  label: string; text: string; isLong?: boolean; hint?: string;
  /** Reads what stands, on the way what is kept; `isFresh`: from the server. */
  read: (isFresh: boolean) => Promise<Standing>;
  /** Answers whether it was saved: a person may draw back from what it takes in the database. */
  save: (text: string, tag: string | undefined) => Promise<boolean>;
  /** The members of the address whose change takes the editor away. */
  closedBy?: readonly string[];
}

export function InPlace({ shown, mayEdit, ...edited }: Edited & {
  /** How the text is shown; absent: as it is, or a dash. */
  shown?: ReactNode;
  mayEdit: boolean;
}) {
  const t = useTexts(TABLE_TEXTS);
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const wasOpen = useRef(false);
  useEffect(() => {
    // The keyboard goes back to the button that opened the field.
    if (wasOpen.current && !isOpen) box.current?.querySelector("button")?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);
  if (isOpen) return <Editor {...edited} onClose={() => setOpen(false)} />;
  const { label, text } = edited;
  return (
    <div className="tables-inplace" ref={box}>
      <div className="tables-text">{shown ?? (text === "" ? <span className="faint">–</span> : text)}</div>
      {mayEdit && <IconButton icon="edit" label={t.edit(label)} onPress={() => setOpen(true)} />}
    </div>
  );
}

function Editor({ label, text, isLong, hint, read, save, closedBy = [], onClose }: Edited & { onClose: () => void }) {
  const t = useTexts(TABLE_TEXTS);
  const [began] = useState(text);
  const [typed, setTyped] = useState(text);
  // What the reader has seen of what stands. There is no tag until it was read.
  const seen = useRef<Standing>({ text, tag: undefined });
  const opening = useRef<Promise<void>>(undefined);
  const [other, setOther] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const leaving = useLeaving(typed !== began, closedBy);
  const look = async (isFresh: boolean) => {
    const now = await read(isFresh);
    if (now.text !== seen.current.text) setOther(now.text);
    seen.current = now;
  };
  useEffect(() => {
    opening.current = look(false).catch(setError);
  }, []);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The keyboard goes into the field, also after a save that failed: a locked field loses it.
    if (!isBusy) box.current?.querySelector<HTMLElement>("input, textarea")?.focus();
  }, [isBusy]);
  const attempt = async (): Promise<boolean> => {
    const from = seen.current.text;
    await opening.current;
    if (seen.current.tag === undefined) await look(false);
    if (seen.current.text !== from) return false;
    try {
      return await save(typed, seen.current.tag);
    } catch (reason) {
      if (!isStale(reason)) throw reason;
      await look(true);
      // If something else of the resource changed, this text is still the one that was edited.
      return seen.current.text === from && save(typed, seen.current.tag);
    }
  };
  const submit = async () => {
    setBusy(true);
    setError(null);
    try {
      if (await attempt()) onClose();
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      if (!isBusy) onClose();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      (event.currentTarget as HTMLFormElement).requestSubmit();
    }
  };
  const field = { label, isLabelHidden: true, value: typed, onChange: setTyped, isDisabled: isBusy, ...(hint === undefined ? {} : { hint }) };
  return (
    <div ref={box}>
      {leaving}
      <Form onSubmit={submit} isBusy={isBusy} className="stack tables-editing" onKeyDown={keys}>
        {isLong ? <TextArea {...field} rows={3} /> : <TextField {...field} />}
        {other !== null && (
          <div className="note" role="alert">
            <div>
              <p>{t.changedMeanwhile}</p>
              <p className="tables-text">{other === "" ? t.empty : other}</p>
              <Button isDisabled={isBusy} onPress={onClose}>{t.takeTheirs}</Button>
            </div>
          </div>
        )}
        <Failure error={error} />
        <div className="actions">
          <Button type="submit" kind="primary" isBusy={isBusy}>{other === null ? t.save : t.overwrite}</Button>
          <Button isDisabled={isBusy} onPress={onClose}>{t.cancel}</Button>
        </div>
      </Form>
    </div>
  );
}
