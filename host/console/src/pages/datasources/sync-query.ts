/** The last synchronization of a data source; one that runs is followed. */
import { api, data, type Schemas } from "../../api/client";

export type Sync = Schemas["Sync"];

const FOLLOW_MS = 600;

export const syncQuery = (id: number) => ({
  queryKey: ["datasources", id, "sync"],
  queryFn: () => data(api.GET("/api/v1/datasources/{id}/sync", { params: { path: { id } } })),
  refetchInterval: (query: { state: { data: Sync | null | undefined } }) => (query.state.data?.state === "running" ? FOLLOW_MS : false) as number | false,
});
