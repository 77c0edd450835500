/** Asks before typed text is lost because its form is left. */
import { useBlocker } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTexts } from "../i18n";
import { Actions, Button, Dialog } from "./controls";
import { TEXTS } from "./texts";

/**
 * The question, which the form renders. It comes up when the page is left, or one of the `members` of the address changes:
 * those that close the form.
 */
export function useLeaving(isDirty: boolean, members: readonly string[] = ["tab"]): ReactNode {
  const t = useTexts(TEXTS);
  const leaving = useBlocker({
    shouldBlockFn: ({ current, next }) => current.pathname !== next.pathname
      || members.some((name) => memberOf(current.search, name) !== memberOf(next.search, name)),
    disabled: !isDirty,
    withResolver: true,
  });
  const stay = () => leaving.reset?.();
  return (
    <Dialog title={t.unsaved} isOpen={leaving.status === "blocked"} onClose={stay}>
      <p>{t.unsavedLead}</p>
      <Actions>
        <Button onPress={stay}>{t.stay}</Button>
        <Button kind="danger" onPress={() => leaving.proceed?.()}>{t.leave}</Button>
      </Actions>
    </Dialog>
  );
}

function memberOf(search: unknown, name: string): unknown {
  return (search as Record<string, unknown>)[name];
}
