/** A form. */
import { type ReactNode, useRef } from "react";

/**
 * `onSubmit` is not called while the form is busy, or while the promise is open that it answered: Enter submits a form with
 * one field also while its button is busy.
 */
export function Form({ onSubmit, isBusy = false, className = "stack", children, ...rest }: {
  onSubmit: () => unknown; isBusy?: boolean; className?: string; children: ReactNode;
  onKeyDown?: (event: React.KeyboardEvent) => void; "aria-label"?: string;
}) {
  const isRunning = useRef(false);
  const submit = async () => {
    if (isBusy || isRunning.current) return;
    isRunning.current = true;
    try {
      await onSubmit();
    } finally {
      isRunning.current = false;
    }
  };
  return (
    <form noValidate className={className} {...rest} onSubmit={(event) => {
      event.preventDefault();
      // A form in a form's dialog submits itself only.
      event.stopPropagation();
      void submit();
    }}>
      {children}
    </form>
  );
}
