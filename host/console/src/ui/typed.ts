/** A member of the address that is typed: the field shows each letter at once, the address follows after a pause. */
import { useEffect, useRef, useState } from "react";
import { useAddress } from "../search";

const PAUSE_MS = 200;

/** The text of the field and its setter. `also` names members that a change removes, such as the page of a list. */
export function useTyped(name: string, also: readonly string[] = []): [string, (value: string) => void] {
  const { text, set } = useAddress();
  const stands = text(name);
  const [typed, setTyped] = useState(stands);
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => {
    if (timer.current === undefined) setTyped(stands);
  }, [stands]);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const change = (value: string) => {
    setTyped(value);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      timer.current = undefined;
      set({ ...Object.fromEntries(also.map((one) => [one, undefined])), [name]: value });
    }, PAUSE_MS);
  };
  return [typed, change];
}
