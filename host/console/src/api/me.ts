/** The caller, and what its role may do. */
import { useQuery } from "@tanstack/react-query";
import { api, data, type Schemas } from "./client";
import { OPERATIONS } from "./operations";

export type Operation = keyof typeof OPERATIONS;

const RANK: Record<string, number> = { anyone: 0, viewer: 1, editor: 2, approver: 3, admin: 4 };

export const meQuery = {
  queryKey: ["me"],
  queryFn: () => data<Schemas["Me"]>(api.GET("/api/v1/me")),
  staleTime: 60_000,
  retry: false,
};

/** The caller. Only below the sign-in, where it is known. */
export function useMe(): Schemas["Me"] {
  const me = useQuery(meQuery).data;
  if (!me) throw new Error("the caller is not known here");
  return me;
}

/** Says whether the caller's role may do an operation, and the server has it. */
export function useMay(): (operation: Operation) => boolean {
  const rank = RANK[useMe().role] ?? 0;
  return (operation) => rank >= (RANK[OPERATIONS[operation]?.role] ?? 9);
}
