/** The selected table or edge, beside the graph. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { api, data, type Schemas } from "../../api/client";
import { datasourcesQuery } from "../../api/datasources";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { marked } from "../../ui/marks";
import { Facts, State, Tag } from "../../ui/page";
import { type LineageEdge, type LineageGraph, type LineageNode } from "./data";
import { TaskLinks } from "./TaskLinks";
import { TEXTS } from "./texts";
import type { View } from "./view";

export function TablePanel({ view, graph, node, isExpanding }: { view: View; graph: LineageGraph; node: LineageNode; isExpanding: boolean }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const { set } = useAddress();
  const sources = useQuery(datasourcesQuery).data;
  const id = Number(node.id);
  const table = useQuery({
    queryKey: ["tables", id, "summary"],
    queryFn: () => data<Schemas["TableDetail"]>(api.GET("/api/v1/tables/{id}", { params: { path: { id } } })),
    staleTime: 30_000,
  }).data;
  const isExpanded = view.expanded.includes(node.id);
  const expand = (ids: string[]) => set({ expand: ids.join(","), selected: id }, true);
  const { distance } = node;
  const steps = distance === null ? null : distance === 0 ? t.itself : distance < 0 ? t.above(-distance) : t.below(distance);
  return (
    <aside className="lineage-panel" aria-label={t.selected}>
      <header>
        <h2>{marked(node.tableName)}</h2>
        <Button kind="quiet" icon="close" aria-label={t.closePanel} onPress={() => set({ selected: view.table === null ? undefined : "none" })} />
      </header>
      {node.tableComment && <p className="lineage-said">{node.tableComment}</p>}
      <div className="row">
        <Link to={`/tables/${node.id}`} className="button primary"><Icon name="table" />{t.openTable}</Link>
        {view.table !== node.id && (
          <Button icon="lineage" onPress={() => set({ table: id, selected: undefined, edge: undefined, focus: undefined, expand: undefined }, true)}>{t.start}</Button>
        )}
        <Button icon={isExpanded ? "close" : "plus"} isBusy={isExpanded && isExpanding}
          onPress={() => expand(isExpanded ? view.expanded.filter((one) => one !== node.id) : [...view.expanded, node.id])}>
          {isExpanded ? t.collapse : t.expand}
        </Button>
        <Button icon="search" aria-pressed={view.focus === node.id} onPress={() => set({ focus: view.focus === node.id ? undefined : id, selected: id }, true)}>
          {view.focus === node.id ? t.unfocus : t.focus}
        </Button>
      </div>
      <Facts facts={[
        [t.source, sources?.find((source) => source.id === node.clusterId)?.name],
        [t.database, node.dbName],
        [t.layer, node.layer && <Tag>{node.layer}</Tag>],
        [t.business, node.businessDomain],
        [t.domain, node.dataDomain],
        ...(steps === null ? [] : [[t.distance, steps] as const]),
        [t.owner, table?.owner],
        [t.rows, table?.rowCount == null ? null : format.number(table.rowCount)],
        [t.size, table?.dataSize == null ? null : format.bytes(table.dataSize)],
        ...(table?.status === "deprecated" ? [[t.status, <State value={table.status} />] as const] : []),
      ]} />
      <Side graph={graph} node={node} side="upstream" />
      <Side graph={graph} node={node} side="downstream" />
    </aside>
  );
}

/** The tables directly before or after a table, and the tasks between. */
function Side({ graph, node, side }: { graph: LineageGraph; node: LineageNode; side: "upstream" | "downstream" }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const { set } = useAddress();
  const isUp = side === "upstream";
  const names = useMemo(() => new Map(graph.nodes.map((one) => [one.id, one.tableName])), [graph.nodes]);
  const edges = graph.edges.filter((edge) => edge[isUp ? "target" : "source"] === node.id && edge.source !== edge.target);
  const taskIds = [...new Set(edges.flatMap((edge) => edge.taskIds))];
  const isCut = edges.some((edge) => edge.taskCount > edge.taskIds.length);
  const count = isCut ? Math.max(taskIds.length, ...edges.map((edge) => edge.taskCount)) : taskIds.length;
  return (
    <section className="lineage-side">
      <header>
        <h3>{isUp ? t.madeFrom : t.feeds} <span className="small">{t.nodes(format.number(edges.length))}</span></h3>
        <Button kind="quiet" onPress={() => set({ list: side, selected: Number(node.id) }, true)}>{isUp ? t.origins : t.impact}</Button>
      </header>
      {edges.length === 0 && <p className="small">{isUp ? t.noneAbove : t.noneBelow}</p>}
      {edges.length > 0 && (
        <>
          <p className="lineage-neighbours">
            {edges.map((edge) => {
              const other = isUp ? edge.source : edge.target;
              return (
                <button key={other} type="button" className="lineage-link" onClick={() => set({ selected: Number(other), edge: undefined }, true)}>
                  {names.get(other) ?? other}
                </button>
              );
            })}
          </p>
          <TaskLinks ids={taskIds} count={count} />
        </>
      )}
    </section>
  );
}

export function EdgePanel({ graph, edge, onClose }: { graph: LineageGraph; edge: LineageEdge; onClose: () => void }) {
  const t = useTexts(TEXTS);
  const { set } = useAddress();
  const name = (id: string) => graph.nodes.find((node) => node.id === id)?.tableName ?? id;
  const link = (id: string) => (
    <button type="button" className="lineage-link" onClick={() => set({ selected: Number(id), edge: undefined }, true)}>{name(id)}</button>
  );
  return (
    <aside className="lineage-panel" aria-label={t.edge(name(edge.source), name(edge.target))}>
      <header>
        <h2>{link(edge.source)} → {link(edge.target)}</h2>
        <Button kind="quiet" icon="close" aria-label={t.closePanel} onPress={onClose} />
      </header>
      <p className="small">{t.edgeLead}</p>
      <TaskLinks ids={edge.taskIds} count={edge.taskCount} />
    </aside>
  );
}
