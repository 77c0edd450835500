/** The text of a new token, once. It closes by its button only, so that no stray press loses it. */
import { Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import type { Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Actions, Button } from "../../ui/controls";
import { useCopy } from "../../ui/copy";
import { marked } from "../../ui/marks";
import { Code } from "../../ui/page";
import { TEXTS } from "./texts";

export function NewToken({ token, note, onClose }: { token: Schemas["CreatedToken"]; note: string | undefined; onClose: () => void }) {
  const t = useTexts(TEXTS);
  const { copy, outcome } = useCopy();
  return (
    <ModalOverlay isOpen isDismissable={false} isKeyboardDismissDisabled className="overlay">
      <Modal className="modal">
        <Dialog className="dialog">
          <header><Heading slot="title">{t.shownTitle}: {marked(token.name)}</Heading></header>
          <p className="strong">{t.shownNote}</p>
          <Code>{token.token}</Code>
          <div className="row">
            <Button icon={outcome?.icon ?? "copy"} kind="primary" onPress={() => copy(token.token)}>{outcome?.text ?? t.copy}</Button>
          </div>
          <p className="small">{t.usedAs} <code>Authorization: Bearer …</code></p>
          {note && <div className="note failure"><p>{note}</p></div>}
          <Actions><Button onPress={onClose}>{t.close}</Button></Actions>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
