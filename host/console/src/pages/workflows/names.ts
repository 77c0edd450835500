/** Names for the ids in comparisons. */
import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, data } from "../../api/client";
import { type Comparison, useDatasources } from "./data";

/** At most so many tables are asked for; the others are shown by their ids. */
const NAMED = 100;

export function useNames(comparison: Comparison | undefined) {
  const sources = useDatasources().data;
  const ids = useMemo(() => (comparison ? [...idsIn(comparison)].slice(0, NAMED) : []), [comparison]);
  const tables = useQueries({
    queries: ids.map((id) => ({
      queryKey: ["tables", id],
      queryFn: () => data(api.GET("/api/v1/tables/{id}", { params: { path: { id } } })),
      staleTime: 60_000,
    })),
  });
  return {
    sourceNames: new Map((sources ?? []).map((one) => [one.id, one.name])),
    tableNames: new Map(tables.flatMap(({ data: table }) => (table ? [[table.id, `${table.dbName}.${table.tableName}`] as const] : []))),
  };
}

function idsIn({ tasks }: Comparison): Set<number> {
  const ids = new Set<number>();
  for (const one of [...tasks.added, ...tasks.removed]) for (const id of [...one.inputTableIds, ...one.outputTableIds]) ids.add(id);
  for (const { changes } of tasks.modified) {
    for (const { field, before, after } of changes) {
      if (field.endsWith("TableIds")) for (const id of [before, after].flat() as unknown[]) if (typeof id === "number") ids.add(id);
    }
  }
  return ids;
}
