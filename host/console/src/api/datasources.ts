/** All data sources in one list; there are few of them. */
import { api, data, type Schemas } from "./client";

const PAGE_SIZE = 500;

export const datasourcesQuery = {
  queryKey: ["datasources", "all"],
  queryFn: async () => {
    const all: Schemas["Datasource"][] = [];
    for (let pageNum = 1; ; pageNum += 1) {
      const query = { pageNum, pageSize: PAGE_SIZE };
      const { records, total } = await data(api.GET("/api/v1/datasources", { params: { query } }));
      all.push(...records);
      if (records.length < PAGE_SIZE || all.length >= total) return all;
    }
  },
  staleTime: 30_000,
};

/** The data source that the server itself has; it cannot be changed, and no tables of it are listed. */
export function isBuiltIn(source: Schemas["Datasource"]): boolean {
  return source.url === "lakeport:";
}
