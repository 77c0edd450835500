/** Fields that are locked while they are saved, so that nothing typed meanwhile is lost. */
import { type ReactNode, useEffect, useRef } from "react";

export function Locked({ isBusy, isStack = false, children }: { isBusy: boolean; isStack?: boolean; children: ReactNode }) {
  const last = useRef<HTMLElement | null>(null);
  useEffect(() => {
    // A locked field loses the keyboard; it comes back to it.
    if (!isBusy && document.activeElement === document.body) last.current?.focus();
  }, [isBusy]);
  return (
    <fieldset disabled={isBusy} className={isStack ? "stack locked" : "locked"} onFocus={(event) => { last.current = event.target; }}>
      {children}
    </fieldset>
  );
}
