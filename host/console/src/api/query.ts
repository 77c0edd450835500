/** Reading and changing through TanStack Query. */
import { QueryClient, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, Failed } from "./client";
import { isSignedOut, meQuery } from "./me";

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // A refusal stays one; a server that does not answer may be starting.
      retry: (count, error) => count < 2 && error instanceof Failed && (error.status === 0 || error.status === 503),
    },
  },
});

// Any request may be the first to find that the session has ended. The caller is read again then, and the sign-in follows.
api.use({
  onResponse: ({ response, schemaPath }) => {
    const isKnown = isSignedOut(queries.getQueryState(meQuery.queryKey)?.error ?? null);
    if (response.status !== 401 || isKnown || schemaPath === "/api/v1/me" || schemaPath === "/api/v1/session") return;
    void queries.invalidateQueries({ queryKey: meQuery.queryKey }, { cancelRefetch: false });
  },
});

/**
 * A change, after which the queries whose keys begin so are read again.
 * `error` holds the failure for `<Failure>`; what was typed stays where it is.
 */
export function useChange<Input, Output>(change: (input: Input) => Promise<Output>, outdated: readonly unknown[][]) {
  const client = useQueryClient();
  return useMutation<Output, Error, Input>({
    mutationFn: change,
    onSuccess: () => Promise.all(outdated.map((queryKey) => client.invalidateQueries({ queryKey }))),
  });
}
