/** Tests of engines. Their outcome is kept while the window is open: the server keeps none. */
import { useQueries, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { api, data, type Schemas } from "../../api/client";

export interface Test {
  result: Schemas["EngineTest"] | undefined;
  error: unknown;
  isBusy: boolean;
  /** The time of the last outcome, as an instant; null: none yet. */
  at: string | null;
}

const testQuery = (name: string) => ({
  queryKey: ["engines", name, "test"],
  queryFn: () => data<Schemas["EngineTest"]>(api.POST("/api/v1/engines/{name}/test", { params: { path: { name } } })),
  enabled: false,
  retry: false,
  gcTime: Infinity,
  staleTime: Infinity,
});

/** The last test of each engine, in the given order. */
export function useTests(names: readonly string[]): Test[] {
  return useQueries({ queries: names.map(testQuery) }).map((query) => {
    const at = Math.max(query.dataUpdatedAt, query.errorUpdatedAt);
    const isFailed = query.errorUpdatedAt > query.dataUpdatedAt;
    return {
      result: isFailed ? undefined : query.data,
      error: isFailed ? query.error : null,
      isBusy: query.isFetching,
      at: at === 0 ? null : new Date(at).toISOString(),
    };
  });
}

export function useStartTest() {
  const client = useQueryClient();
  // The failure is the query's, and is shown with it.
  return useCallback((name: string) => client.fetchQuery({ ...testQuery(name), staleTime: 0 }).catch(() => undefined), [client]);
}
