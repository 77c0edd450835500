/** Asks before what cannot be undone; a name may have to be typed. */
import { type ReactNode, useState } from "react";
import { useTexts } from "../i18n";
import { Actions, Button, Dialog, TextField } from "./controls";
import { Failure } from "./page";
import { TEXTS } from "./texts";

export function Confirm({ title, children, action, isOpen, onClose, onConfirm, typed, typedLabel, isDanger, keep }: {
  title: string; children?: ReactNode;
  /** The text of the button that does it. */
  action: string;
  /** The text of the button that does not, where the action is itself a cancelling. */
  keep?: string;
  isOpen: boolean; onClose: () => void;
  /** Does it; the dialog closes when it succeeded and shows the failure otherwise. */
  onConfirm: () => Promise<unknown>;
  /** What has to be typed first. */
  typed?: string; typedLabel?: string; isDanger?: boolean;
}) {
  const t = useTexts(TEXTS);
  const [text, setText] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const close = () => {
    setText("");
    setError(null);
    onClose();
  };
  const confirm = async () => {
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      close();
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} isOpen={isOpen} onClose={close} isBusy={isBusy}>
      {children}
      {typed !== undefined && <TextField label={typedLabel ?? typed} value={text} onChange={setText} placeholder={typed} autoFocus />}
      <Failure error={error} />
      <Actions>
        <Button isDisabled={isBusy} onPress={close}>{keep ?? t.cancel}</Button>
        <Button kind={isDanger ? "danger" : "primary"} isBusy={isBusy} isDisabled={typed !== undefined && text !== typed}
          onPress={() => void confirm()}>
          {action}
        </Button>
      </Actions>
    </Dialog>
  );
}
