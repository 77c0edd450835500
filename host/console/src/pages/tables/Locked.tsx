/** Fields that are locked while they are saved, so that nothing typed meanwhile is lost. */
import { type ReactNode, useEffect, useRef } from "react";

export function Locked({ isBusy, className, children }: { isBusy: boolean; className: string; children: ReactNode }) {
  const last = useRef<HTMLElement | null>(null);
  useEffect(() => {
    // A locked field loses the keyboard; it comes back to it.
    if (!isBusy && document.activeElement === document.body) last.current?.focus();
  }, [isBusy]);
  return (
    <fieldset disabled={isBusy} className={className} onFocus={(event) => { last.current = event.target; }}>
      {children}
    </fieldset>
  );
}
