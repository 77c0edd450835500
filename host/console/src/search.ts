/** The part of the address behind `?`, and the parameters of its path. */
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

type Value = string | number | boolean | undefined;

/** A text of digits stands in the address as a number; as a text it would stand there in quotes. */
export function asMember(value: Value): Value {
  return typeof value === "string" && /^[1-9]\d{0,14}$/.test(value) ? Number(value) : value;
}

/**
 * What the address says, and a function that changes it: `undefined` or `""` removes a member. With `isStep` the
 * browser's "back" undoes the change; otherwise it replaces the address, as while typing.
 */
export function useAddress() {
  const search = useSearch({ strict: false }) as Record<string, Value>;
  const navigate = useNavigate();
  const set = useCallback(
    (change: Record<string, Value>, isStep = false) => {
      const next = (before: Record<string, Value>) =>
        Object.fromEntries(
          Object.entries({ ...before, ...change })
            .filter(([, value]) => value !== undefined && value !== "")
            .map(([name, value]) => [name, asMember(value)]),
        );
      void navigate({ to: ".", search: next as never, replace: !isStep, resetScroll: false });
    },
    [navigate],
  );
  const text = (name: string) => (search[name] === undefined ? "" : String(search[name]));
  const number = (name: string, fallback: number) => {
    const value = Number(search[name]);
    return Number.isInteger(value) && value > 0 ? value : fallback;
  };
  return { search, text, number, set };
}

/** The parameters of the path: `id` of `/tables/$id`. */
export function usePath(): Record<string, string> {
  return useParams({ strict: false }) as Record<string, string>;
}
