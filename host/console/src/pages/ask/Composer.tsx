/** The field for a question. Enter sends, Shift+Enter breaks the line. */
import { type ReactNode, type RefObject, useEffect, useLayoutEffect } from "react";
import { useFormat, useTexts } from "../../i18n";
import { Button } from "../../ui/controls";
import { Form } from "../../ui/form";
import { Failure } from "../../ui/page";
import { QUESTION_MAX } from "./send";
import { TEXTS } from "./texts";

const HEIGHT_MAX_PX = 260;

export function Composer({ value, onChange, onSend, isSending, error, placeholder, field, children }: {
  value: string; onChange: (value: string) => void; onSend: () => unknown; isSending: boolean; error: unknown; placeholder: string;
  field: RefObject<HTMLTextAreaElement | null>;
  /** Beside the button. */
  children?: ReactNode;
}) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const isTooLong = value.length > QUESTION_MAX;
  const canSend = value.trim() !== "" && !isSending && !isTooLong;
  useEffect(() => {
    const element = field.current;
    // On a phone the keyboard would cover the page.
    if (!window.matchMedia("(pointer: fine)").matches) return;
    element?.focus({ preventScroll: true });
    element?.setSelectionRange(element.value.length, element.value.length);
  }, [field]);
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    // As high as its text.
    element.style.blockSize = "auto";
    element.style.blockSize = `${Math.min(element.scrollHeight, HEIGHT_MAX_PX)}px`;
  }, [value, field]);
  return (
    <Form className="ask-composer" isBusy={isSending} onSubmit={() => canSend && onSend()}>
      <Failure error={error} />
      <div className="ask-field">
        <textarea ref={field} rows={1} aria-label={t.question} placeholder={placeholder} value={value} readOnly={isSending} data-search=""
          onChange={(event) => onChange(event.target.value)}
          onKeyDown={(event) => {
            // The field has the focus from the start: Escape leaves it for the page's own keys.
            if (event.key === "Escape" && value === "") event.currentTarget.blur();
            // While a Chinese input method composes, Enter takes its word. Safari says so by the code alone.
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing || event.keyCode === 229) return;
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }} />
        <div className="ask-field-foot">
          {children}
          {isTooLong ? (
            <span className="small ask-truncated" role="status">{t.tooLong(format.number(value.length), format.number(QUESTION_MAX))}</span>
          ) : <span className="small ask-keys">{t.keys}</span>}
          <Button type="submit" kind="primary" icon="up" aria-label={t.send} isBusy={isSending} isDisabled={!canSend} />
        </div>
      </div>
    </Form>
  );
}
