/** A state as a small square: its colour and its sign say the same. */
import { Icon, type IconName } from "../../ui/icons";
import { toneOf } from "../../ui/page";

const SIGNS: Record<string, IconName> = {
  success: "check", failed: "close", running: "run", pending: "clock", waiting: "clock", killed: "stop", paused: "pause", not_run: "minus",
};

export function Glyph({ state }: { state: string | null }) {
  if (state === null) return <span className="runs-glyph none" aria-hidden="true" />;
  const sign = Object.hasOwn(SIGNS, state) ? SIGNS[state] : undefined;
  return <span className={`runs-glyph ${toneOf(state)} ${state}`} aria-hidden="true">{sign && <Icon name={sign} />}</span>;
}
