/** What the page shows, as the address says it: a link brings back the same view. */
import { useMemo } from "react";
import type { Schemas } from "../../api/client";
import { useAddress } from "../../search";

export type Direction = Schemas["LineageDirection"];

const DIRECTIONS: readonly Direction[] = ["both", "upstream", "downstream"];
export const DEPTH_DEFAULT = 2;
/** As many are drawn without waiting for it. */
export const TABLES_DEFAULT = 1_000;
export const TABLES_MAX = 20_000;

/** The members of the address that filter. */
export const FILTERS = ["source", "layer", "business", "domain", "database", "q", "deprecated"] as const;

export interface View {
  /** The table at which the walk starts; null: all tables. */
  table: string | null;
  direction: Direction;
  /** null: no limit. */
  depth: number | null;
  max: number;
  source: string;
  layer: string;
  business: string;
  domain: string;
  database: string;
  keyword: string;
  withDeprecated: boolean;
  withAlone: boolean;
  isFiltered: boolean;
  selected: string | null;
  /** Ends of the selected edge. */
  edge: { source: string; target: string } | null;
  focus: string | null;
  /** Tables whose neighbours were loaded, too. */
  expanded: string[];
  /** The graph is shown as a list. */
  isList: boolean;
  /** The list of all that is before or after the selected table. */
  list: "upstream" | "downstream" | null;
}

const isId = (text: string) => /^\d+$/.test(text);

export function useView(): View {
  const { search } = useAddress();
  return useMemo(() => {
    const text = (name: string) => (search[name] === undefined ? "" : String(search[name]));
    const id = (name: string) => (isId(text(name)) ? text(name) : null);
    const number = Number(text("depth"));
    const max = Number(text("max"));
    const ends = text("edge").split("-");
    const table = id("table");
    const direction = text("direction") as Direction;
    const list = text("list");
    return {
      table,
      direction: DIRECTIONS.includes(direction) ? direction : "both",
      depth: text("depth") === "all" ? null : Number.isInteger(number) && number > 0 ? number : DEPTH_DEFAULT,
      max: Number.isInteger(max) && max > 0 ? Math.min(max, TABLES_MAX) : TABLES_DEFAULT,
      source: id("source") ?? "", layer: text("layer"), business: text("business"), domain: text("domain"), database: text("database"),
      keyword: text("q").trim(), withDeprecated: text("deprecated") === "true", withAlone: text("alone") === "true",
      isFiltered: FILTERS.some((name) => text(name) !== ""),
      // The start is selected until something else is.
      selected: text("selected") === "" ? (text("edge") === "" ? table : null) : id("selected"),
      edge: ends.length === 2 && ends.every(isId) ? { source: ends[0]!, target: ends[1]! } : null,
      focus: id("focus"),
      expanded: [...new Set(text("expand").split(",").filter(isId))],
      isList: text("as") === "list",
      list: list === "upstream" || list === "downstream" ? list : null,
    };
  }, [search]);
}
