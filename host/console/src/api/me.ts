/** The caller, and what its role may do. */
import { type QueryClient, useQuery } from "@tanstack/react-query";
import { api, data, Failed, type Schemas, setAnswerMax } from "./client";
import { OPERATIONS } from "./operations";

export type Operation = keyof typeof OPERATIONS;

const RANK: Record<string, number> = { anyone: 0, viewer: 1, editor: 2, approver: 3, admin: 4 };

/** `turn` counts the callers of this window: with another one the pages begin from the start. */
type Caller = Schemas["Me"] & { turn: number };

export const meQuery = {
  queryKey: ["me"],
  queryFn: async ({ client }: { client: QueryClient }): Promise<Caller> => {
    const me = await data(api.GET("/api/v1/me"));
    setAnswerMax(me.limits.requestTimeoutSeconds);
    const before = client.getQueryData<Caller>(["me"]);
    if (!before || !isOther(before, me)) return { ...me, turn: before?.turn ?? 0 };
    client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "me" });
    forgetTyped();
    return { ...me, turn: before.turn + 1 };
  },
  staleTime: 60_000,
  retry: false,
};

function isOther(before: Schemas["Me"], me: Schemas["Me"]): boolean {
  // The first token ends local mode and signs in its maker, to whom the page still shows it.
  if (before.kind === "local") return false;
  const said = ({ kind, name, role, datasources, scopes }: Schemas["Me"]) => JSON.stringify([kind, name, role, datasources, scopes]);
  return said(before) !== said(me);
}

/** The session of a caller has ended, or there was none. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof Failed && error.status === 401;
}

/** What a caller typed is not for the next one: the drafts that the window keeps. */
export function forgetTyped() {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith("lakeport.")) sessionStorage.removeItem(key);
}

/** The caller. Only below the sign-in, where it is known. */
export function useMe(): Schemas["Me"] {
  const me = useQuery(meQuery).data;
  if (!me) throw new Error("the caller is not known here");
  return me;
}

/** Says whether the caller may do an operation by its role and its data sources, and the server has it. */
export function useMay(): (operation: Operation) => boolean {
  const me = useMe();
  const rank = RANK[me.role] ?? 0;
  return (name) => {
    const operation = OPERATIONS[name];
    if (!operation || (operation.unbound && me.datasources !== null)) return false;
    return rank >= (RANK[operation.role] ?? 9);
  };
}
