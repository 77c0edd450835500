/** How long a run or an execution took, or takes so far. */
import { useMe } from "../../api/me";
import { useFormat } from "../../i18n";
import { inZone } from "../workflows/data";
import { isActive } from "./data";

interface Timed {
  status: string;
  startTime: string | null;
  durationSeconds: number | null;
}

/** Null: it has not begun. The lists are read again while something runs, and so is the time. */
export function useTook(): (one: Timed) => string | null {
  const format = useFormat();
  const { timeZone } = useMe();
  return ({ status, startTime, durationSeconds }) => {
    if (durationSeconds !== null) return format.seconds(durationSeconds);
    if (startTime === null || !isActive(status)) return null;
    const began = new Date(`${inZone(startTime, timeZone, "UTC").replace(" ", "T")}Z`).getTime();
    // The reader's clock may be behind the server's.
    return format.seconds(Math.max(0, Math.round((Date.now() - began) / 1000)));
  };
}
