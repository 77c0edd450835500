/** The lineage as the server has it, with the neighbours that were loaded into the view. */
import { keepPreviousData, useQueries, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, data, type Schemas } from "../../api/client";
import type { View } from "./view";

export type LineageNode = Schemas["LineageNode"];
export type LineageEdge = Schemas["LineageEdge"];
export type LineageGraph = Schemas["LineageGraph"];

/** All tables are asked for at once: those without lineage would take the places of the others. */
const WHOLE_MAX = 20_000;

/** Of so many added tables the edges to each other are asked for. */
const COMPLETED_MAX = 60;

const NO_GRAPH: LineageGraph = { nodes: [], edges: [], truncated: false, omitted: { nodes: 0, edges: 0 } };

type Query = NonNullable<Parameters<typeof graphQuery>[0]>;

export const graphQuery = (query: {
  tableId?: number; depth?: number; direction?: Schemas["LineageDirection"]; maxNodes?: number; layer?: string; businessDomain?: string;
  dataDomain?: string; dbName?: string; clusterId?: number; keyword?: string; includeDeprecated?: boolean;
}) => ({
  queryKey: ["lineage", query],
  queryFn: () => data<LineageGraph>(api.GET("/api/v1/lineage", { params: { query } })),
});

function queryOf(view: View): Query {
  return {
    maxNodes: view.table === null ? WHOLE_MAX : view.max,
    ...(view.table === null ? {} : { tableId: Number(view.table), direction: view.direction, ...(view.depth === null ? {} : { depth: view.depth }) }),
    ...(view.layer === "" ? {} : { layer: view.layer }),
    ...(view.business === "" ? {} : { businessDomain: view.business }),
    ...(view.domain === "" ? {} : { dataDomain: view.domain }),
    ...(view.database === "" ? {} : { dbName: view.database }),
    ...(view.source === "" ? {} : { clusterId: Number(view.source) }),
    ...(view.keyword === "" ? {} : { keyword: view.keyword }),
    ...(view.withDeprecated ? { includeDeprecated: true } : {}),
  };
}

const neighboursQuery = (id: string, withDeprecated: boolean) => ({
  ...graphQuery({ tableId: Number(id), depth: 1, ...(withDeprecated ? { includeDeprecated: true } : {}) }),
  staleTime: 30_000,
});

/** Stays the same function, so that the queries' answers stay the same object. */
const combined = (results: UseQueryResult<LineageGraph>[]) => ({
  graphs: results.map((result) => result.data),
  error: results.find((result) => result.error)?.error ?? null,
  isPending: results.some((result) => result.isPending),
});

export interface Shown {
  graph: LineageGraph;
  /** Tables without an edge that are left out. */
  hiddenAlone: number;
  /** What there is beyond `max`. */
  cut: LineageGraph["omitted"];
  /** What is in data sources that the caller may not read. */
  withheld: LineageGraph["omitted"];
  /** Not all edges between added tables are known. */
  isIncomplete: boolean;
  /** A loading of neighbours failed. */
  error: unknown;
  isExpanding: boolean;
}

export function useLineage(view: View) {
  const base = useQuery({ ...graphQuery(queryOf(view)), placeholderData: keepPreviousData });
  const expansions = useQueries({ queries: view.expanded.map((id) => neighboursQuery(id, view.withDeprecated)), combine: combined });
  const added = useMemo(() => {
    const known = new Set(base.data?.nodes.map((node) => node.id));
    const nodes = new Map<string, LineageNode>();
    for (const graph of expansions.graphs) {
      for (const node of graph?.nodes ?? []) if (!known.has(node.id)) nodes.set(node.id, node);
    }
    return nodes;
  }, [base.data, expansions]);
  // The neighbours of one table come without their edges to the rest of the view.
  const completed = useMemo(() => [...added.keys()].slice(0, COMPLETED_MAX), [added]);
  const completions = useQueries({ queries: completed.map((id) => neighboursQuery(id, view.withDeprecated)), combine: combined });
  const shown = useMemo((): Shown => {
    const graph = base.data ?? NO_GRAPH;
    const merged = added.size === 0 && expansions.graphs.every((one) => !one)
      ? graph
      : merge(graph, added, [...expansions.graphs, ...completions.graphs]);
    const { graph: linked, hidden } = view.table === null && !view.withAlone && !view.isFiltered ? withoutAlone(merged) : { graph: merged, hidden: 0 };
    const drawn = view.table === null ? first(linked, view.max) : linked;
    const isCut = graph.truncated;
    return {
      graph: drawn, hiddenAlone: hidden, isIncomplete: added.size > COMPLETED_MAX,
      cut: {
        nodes: linked.nodes.length - drawn.nodes.length + (isCut ? graph.omitted.nodes : 0),
        edges: linked.edges.length - drawn.edges.length + (isCut ? graph.omitted.edges : 0),
      },
      withheld: isCut ? NO_GRAPH.omitted : graph.omitted,
      error: expansions.error ?? completions.error, isExpanding: expansions.isPending && view.expanded.length > 0,
    };
  }, [base.data, added, expansions, completions, view.table, view.withAlone, view.isFiltered, view.max, view.expanded.length]);
  return { base, shown };
}

function merge(base: LineageGraph, added: ReadonlyMap<string, LineageNode>, graphs: readonly (LineageGraph | undefined)[]): LineageGraph {
  // The distance of an added table is from another table.
  const nodes = [...base.nodes, ...[...added.values()].map((node) => ({ ...node, distance: null }))];
  const known = new Set(nodes.map((node) => node.id));
  const edges = new Map(base.edges.map((edge) => [`${edge.source}-${edge.target}`, edge]));
  for (const graph of graphs) {
    for (const edge of graph?.edges ?? []) {
      if (known.has(edge.source) && known.has(edge.target)) edges.set(`${edge.source}-${edge.target}`, edge);
    }
  }
  return { ...base, nodes, edges: [...edges.values()] };
}

function withoutAlone(graph: LineageGraph): { graph: LineageGraph; hidden: number } {
  const linked = new Set(graph.edges.flatMap((edge) => (edge.source === edge.target ? [] : [edge.source, edge.target])));
  const nodes = graph.nodes.filter((node) => linked.has(node.id));
  return { graph: nodes.length === graph.nodes.length ? graph : { ...graph, nodes }, hidden: graph.nodes.length - nodes.length };
}

/** So many tables of the graph, those that belong together first, the largest such group before the others. */
function first(graph: LineageGraph, max: number): LineageGraph {
  if (graph.nodes.length <= max) return graph;
  const ways = neighbours(graph.edges, "both");
  const seen = new Set<string>();
  const groups: string[][] = [];
  for (const { id } of graph.nodes) {
    if (seen.has(id)) continue;
    const group = [id];
    seen.add(id);
    for (let place = 0; place < group.length; place += 1) {
      for (const other of ways.get(group[place]!) ?? []) {
        if (seen.has(other)) continue;
        seen.add(other);
        group.push(other);
      }
    }
    groups.push(group);
  }
  groups.sort((a, b) => b.length - a.length);
  const kept = new Set(groups.flat().slice(0, max));
  return {
    ...graph, nodes: graph.nodes.filter((node) => kept.has(node.id)),
    edges: graph.edges.filter((edge) => kept.has(edge.source) && kept.has(edge.target)),
  };
}

function neighbours(edges: readonly LineageEdge[], direction: "upstream" | "downstream" | "both"): Map<string, string[]> {
  const ways = new Map<string, string[]>();
  const add = (from: string, to: string) => {
    const known = ways.get(from);
    if (known) known.push(to);
    else ways.set(from, [to]);
  };
  for (const { source, target } of edges) {
    if (direction !== "upstream") add(source, target);
    if (direction !== "downstream") add(target, source);
  }
  return ways;
}

/** The tables that are before or after a table, itself among them. */
export function related(graph: LineageGraph, id: string): Set<string> {
  const found = new Set([id]);
  for (const direction of ["upstream", "downstream"] as const) {
    const ways = neighbours(graph.edges, direction);
    const seen = new Set([id]);
    const waiting = [id];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      for (const neighbour of ways.get(at) ?? []) {
        if (seen.has(neighbour)) continue;
        seen.add(neighbour);
        found.add(neighbour);
        waiting.push(neighbour);
      }
    }
  }
  return found;
}
