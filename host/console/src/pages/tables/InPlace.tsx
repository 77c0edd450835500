/** A text that is edited where it stands. What was typed stays when the server refuses it, also when others were faster. */
import { type FormEvent, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { useTexts } from "../../i18n";
import { Button, IconButton, TextArea, TextField } from "../../ui/controls";
import { Failure } from "../../ui/page";
import { isStale } from "./api";
import { TABLE_TEXTS } from "./texts-table";

/** What stands on the server, with the tag to change it by. */
export interface Standing {
  text: string;
  tag: string | undefined;
}

export function InPlace({ label, text, shown, mayEdit, isLong, hint, read, save }: {
  label: string; text: string;
  /** How the text is shown; absent: as it is, or a dash. */
  shown?: ReactNode;
  mayEdit: boolean; isLong?: boolean; hint?: string;
  /** Reads what stands, on the way what is kept; `isFresh`: from the server. */
  read: (isFresh: boolean) => Promise<Standing>;
  /** Answers whether it was saved: a person may draw back from what it takes in the database. */
  save: (text: string, tag: string | undefined) => Promise<boolean>;
}) {
  const t = useTexts(TABLE_TEXTS);
  const [typed, setTyped] = useState<string | null>(null);
  const [standing, setStanding] = useState<Standing | null>(null);
  const [other, setOther] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const open = () => {
    setTyped(text);
    setError(null);
    setOther(null);
    setStanding({ text, tag: undefined });
    // The tag of what is shown now; where it cannot be had, saving says why.
    read(false).then((now) => setStanding({ text, tag: now.tag })).catch(() => undefined);
  };
  const close = () => setTyped(null);
  const box = useRef<HTMLDivElement>(null);
  const isOpen = typed !== null;
  const wasOpen = useRef(false);
  useEffect(() => {
    // The keyboard goes into the field, and back to the button that opened it.
    if (isOpen !== wasOpen.current) box.current?.querySelector<HTMLElement>(isOpen ? "input, textarea" : "button")?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);
  const submit = async (event?: FormEvent) => {
    event?.preventDefault();
    if (typed === null || isBusy) return;
    setBusy(true);
    setError(null);
    try {
      if (await attempt(typed, standing ?? { text, tag: undefined })) close();
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  const attempt = async (next: string, from: Standing): Promise<boolean> => {
    try {
      return await save(next, from.tag ?? (await read(false)).tag);
    } catch (reason) {
      if (!isStale(reason)) throw reason;
      const now = await read(true);
      setStanding(now);
      // Something else of the resource changed: this text is still the one that was edited.
      if (now.text === from.text) return save(next, now.tag);
      setOther(now.text);
      return false;
    }
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      void submit();
    }
  };
  if (typed === null) {
    return (
      <div className="tables-inplace" ref={box}>
        <div className="tables-text">{shown ?? (text === "" ? <span className="faint">–</span> : text)}</div>
        {mayEdit && <IconButton icon="edit" label={t.edit(label)} onPress={open} />}
      </div>
    );
  }
  const field = { label, isLabelHidden: true, value: typed, onChange: setTyped, ...(hint === undefined ? {} : { hint }) };
  return (
    <div ref={box}>
      <form noValidate className="stack tables-editing" onSubmit={(event) => void submit(event)} onKeyDown={keys}>
        {isLong ? <TextArea {...field} rows={3} /> : <TextField {...field} />}
        {other !== null && (
          <div className="note" role="alert">
            <div>
              <p>{t.changedMeanwhile}</p>
              <p className="tables-text">{other === "" ? t.empty : other}</p>
              <Button onPress={close}>{t.takeTheirs}</Button>
            </div>
          </div>
        )}
        <Failure error={error} />
        <div className="actions">
          <Button type="submit" kind="primary" isBusy={isBusy}>{other === null ? t.save : t.overwrite}</Button>
          <Button onPress={close}>{t.cancel}</Button>
        </div>
      </form>
    </div>
  );
}
