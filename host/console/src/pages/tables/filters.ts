/** What the list of tables is narrowed to, as the address says it. */
import type { Schemas } from "../../api/client";
import { useAddress } from "../../search";

/** The members of the address that narrow the list, and the interface's parameter of each. */
export const FACETS = {
  source: "clusterId", layer: "layer", owner: "owner", domain: "businessDomain", data: "dataDomain", tag: "tag",
  drift: "hasDrift",
} as const;

export type Facet = keyof typeof FACETS;

export type SortField = "tableName" | "layer" | "row_count" | "data_size" | "updated_at";

export interface Filters {
  keyword?: string;
  clusterId?: number;
  layer?: string;
  owner?: string;
  businessDomain?: string;
  dataDomain?: string;
  tag?: string;
  hasDrift?: boolean;
  sortField?: SortField;
  sortOrder?: Schemas["SortOrder"];
}

export function useFilters(): { filters: Filters; chosen: Record<Facet, string>; count: number } {
  const { text } = useAddress();
  const chosen = Object.fromEntries(Object.keys(FACETS).map((name) => [name, text(name)])) as Record<Facet, string>;
  const filters: Filters = {};
  const keyword = text("q").trim();
  if (keyword !== "") filters.keyword = keyword;
  for (const [name, parameter] of Object.entries(FACETS) as [Facet, (typeof FACETS)[Facet]][]) {
    const value = chosen[name];
    if (value === "") continue;
    if (parameter === "clusterId") filters.clusterId = Number(value) || 0;
    else if (parameter === "hasDrift") filters.hasDrift = true;
    else filters[parameter] = value;
  }
  const sortField = text("sort");
  if (sortField !== "") {
    filters.sortField = sortField as SortField;
    filters.sortOrder = text("order") === "desc" ? "desc" : "asc";
  }
  return { filters, chosen, count: Object.values(chosen).filter((value) => value !== "").length };
}
