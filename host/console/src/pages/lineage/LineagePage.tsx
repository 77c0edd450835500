/** The lineage: all tables, or those around one; what is selected stands beside the graph. */
import { Link } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { Failed } from "../../api/client";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button } from "../../ui/controls";
import { useCopy } from "../../ui/copy";
import { Graph, type GraphNode } from "../../ui/graph";
import { Empty, Failure, Loaded, Page } from "../../ui/page";
import { type LineageGraph, related, type Shown, useLineage } from "./data";
import { Filters, Start } from "./Narrowing";
import { EdgePanel, TablePanel } from "./Panel";
import { Reach } from "./Reach";
import { TEXTS } from "./texts";
import { TABLES_MAX, useView, type View } from "./view";
import "./style.css";

export default function LineagePage() {
  const t = useTexts(TEXTS);
  const view = useView();
  const { base, shown } = useLineage(view);
  const { set } = useAddress();
  const isGone = view.table !== null && base.error instanceof Failed && base.error.status === 404;
  const start = shown.graph.nodes.find((node) => node.id === view.table);
  return (
    <Page title={start ? t.graph(start.tableName) : t.title} lead={t.lead} actions={<CopyLink />}>
      <Start view={view} />
      <Filters view={view} nodes={base.data?.nodes ?? NONE} />
      {isGone
        ? <Empty icon="lineage" title={t.gone}><Button onPress={() => set({ table: undefined, selected: undefined }, true)}>{t.wholeGraph}</Button></Empty>
        : <Loaded query={base}>{() => <Drawing view={view} shown={shown} isWaiting={base.isPlaceholderData} />}</Loaded>}
    </Page>
  );
}

const NONE: LineageGraph["nodes"] = [];

/** `isWaiting`: the graph before is shown until this one has come. */
function Drawing({ view, shown, isWaiting }: { view: View; shown: Shown; isWaiting: boolean }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const { set } = useAddress();
  const { graph } = shown;
  const nodes = useMemo(() => graph.nodes.map((node): GraphNode => ({
    id: node.id, label: node.tableName, ...(node.layer ? { kind: node.layer } : {}), note: node.tableComment ?? node.dbName,
  })), [graph.nodes]);
  const edges = useMemo(() => graph.edges.map(({ source, target }) => ({ source, target })), [graph.edges]);
  const focused = useMemo(
    () => (view.focus !== null && graph.nodes.some((node) => node.id === view.focus) ? related(graph, view.focus) : undefined),
    [graph, view.focus],
  );
  const dimmed = useMemo(
    () => focused && new Set(graph.nodes.filter((node) => !focused.has(node.id)).map((node) => node.id)),
    [graph, focused],
  );
  const hasStart = view.table !== null;
  const select = useCallback((id: string | null) => {
    set({ selected: id !== null ? Number(id) : hasStart ? "none" : undefined, edge: undefined }, id !== null);
  }, [set, hasStart]);
  const selectEdge = useCallback((source: string, target: string) => set({ edge: `${source}-${target}`, selected: undefined }, true), [set]);
  const selected = graph.nodes.find((node) => node.id === view.selected);
  const edge = view.edge && graph.edges.find((one) => one.source === view.edge?.source && one.target === view.edge.target);
  if (graph.nodes.length === 0) {
    const { withheld } = shown;
    if (withheld.nodes > 0) return <Empty icon="lineage" title={t.withheld(format.number(withheld.nodes), format.number(withheld.edges))} />;
    if (view.isFiltered) return <Empty icon="lineage" title={t.emptyFiltered} />;
    return <Empty icon="lineage" title={t.empty}><p>{t.emptyNote}</p><Link to="/workflows" className="button">{t.toWorkflows}</Link></Empty>;
  }
  const panel = edge
    ? <EdgePanel graph={graph} edge={edge} onClose={() => select(null)} />
    : selected && <TablePanel view={view} graph={graph} node={selected} isExpanding={shown.isExpanding} />;
  return (
    <>
      <Counts view={view} shown={shown} />
      <Failure error={shown.error} />
      <div className={panel ? "lineage-main with-panel" : "lineage-main"} aria-busy={isWaiting}>
        <Graph label={t.graphOfAll} nodes={nodes} edges={edges} selected={selected?.id ?? null} onSelect={select} onSelectEdge={selectEdge}
          selectedEdge={view.edge} height="max(26rem, calc(100vh - 25rem))" kindTitle={t.layer}
          isList={view.isList} onList={(isList) => set({ as: isList ? "list" : undefined }, true)} {...(focused && dimmed ? { dimmed, inSight: focused } : {})} />
        {panel}
      </div>
      {view.list && selected && (
        <Reach node={selected} side={view.list} withDeprecated={view.withDeprecated} onClose={() => set({ list: undefined })} />
      )}
    </>
  );
}

/** How much is shown, and what is not. */
function Counts({ view, shown }: { view: View; shown: Shown }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const { set } = useAddress();
  const { cut, withheld } = shown;
  const more = Math.min(TABLES_MAX, view.max * 2);
  return (
    <div className="row lineage-counts" role="status">
      <span className="small">{t.shown(format.number(shown.graph.nodes.length), format.number(shown.graph.edges.length))}</span>
      {shown.hiddenAlone > 0 && <span className="small">{t.hiddenAlone(format.number(shown.hiddenAlone))}</span>}
      {shown.isIncomplete && <span className="small">{t.edgesMissing}</span>}
      {(cut.nodes > 0 || cut.edges > 0) && (
        <span className="lineage-cut">
          {t.truncated(format.number(cut.nodes), format.number(cut.edges))}
          {view.max < more && <Button onPress={() => set({ max: more }, true)}>{t.showMore(format.number(more))}</Button>}
        </span>
      )}
      {(withheld.nodes > 0 || withheld.edges > 0) && (
        <span className="lineage-cut">{t.withheld(format.number(withheld.nodes), format.number(withheld.edges))}</span>
      )}
    </div>
  );
}

function CopyLink() {
  const t = useTexts(TEXTS);
  const { copy, outcome } = useCopy();
  return <Button icon={outcome?.icon ?? "link"} onPress={() => copy(window.location.href)}>{outcome?.text ?? t.copyLink}</Button>;
}
