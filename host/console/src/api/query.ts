/** Reading and changing through TanStack Query. */
import { QueryClient, useMutation, useQueryClient } from "@tanstack/react-query";
import { Failed } from "./client";

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // A refusal stays one; a server that does not answer may be starting.
      retry: (count, error) => count < 2 && error instanceof Failed && (error.status === 0 || error.status === 503),
    },
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
