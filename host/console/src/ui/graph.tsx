/**
 * A graph of up to some thousand nodes: workflows, runs, lineage. It can be moved, zoomed and walked through with the
 * keyboard, and read as a list. What draws it loads when it is first shown.
 */
import { lazy, Suspense, useMemo, useState } from "react";
import { useTexts } from "../i18n";
import { Button } from "./controls";
import { marked } from "./marks";
import { Empty, Loading, State, Tag } from "./page";
import { type Columns, DataTable } from "./table";
import { TEXTS } from "./texts";
import "./graph.css";

export interface GraphNode {
  id: string;
  label: string;
  /** What it is, in a word: a task's type, a table's layer. */
  kind?: string;
  /** Its state by the name in the interface (`success`, `running`): colours the node and is written on it. */
  state?: string;
  /** A line of small text under the label. */
  note?: string;
  width?: number;
  height?: number;
}

export interface GraphEdge {
  source: string;
  target: string;
  label?: string;
}

export type GraphDirection = "RIGHT" | "DOWN";

export interface GraphProps {
  /** Names the graph to screen readers. */
  label: string;
  nodes: readonly GraphNode[];
  edges: readonly GraphEdge[];
  direction?: GraphDirection;
  selected?: string | null;
  /** A node was pressed; null: the empty ground was. */
  onSelect?: (id: string | null) => void;
  /** An edge was pressed. Without it edges cannot be pressed. */
  onSelectEdge?: (source: string, target: string) => void;
  selectedEdge?: { source: string; target: string } | null;
  /** Nodes that are drawn faint, with their edges. */
  dimmed?: ReadonlySet<string>;
  /** When it changes, the drawing is moved so that these nodes are in sight. */
  inSight?: ReadonlySet<string>;
  /** The height of the drawing, any length of CSS. */
  height?: string;
  /** What the `kind` of the nodes is called in the list. */
  kindTitle?: string;
  /** Whether the list is shown, where the caller keeps that, best in the URL. */
  isList?: boolean;
  onList?: (isList: boolean) => void;
}

const Flow = lazy(() => import("./graph-flow"));

export function Graph(props: GraphProps) {
  const t = useTexts(TEXTS).graph;
  const [isListHere, setListHere] = useState(false);
  const { isList = isListHere, onList: setList = setListHere } = props;
  if (props.nodes.length === 0) return <Empty icon="lineage" title={t.empty} />;
  return (
    <div className="graph">
      <div className="graph-mode" role="group" aria-label={t.shownAs}>
        <Button kind={isList ? "quiet" : "plain"} aria-pressed={!isList} onPress={() => setList(false)}>{t.asGraph}</Button>
        <Button kind={isList ? "plain" : "quiet"} aria-pressed={isList} onPress={() => setList(true)}>{t.asList}</Button>
      </div>
      {isList ? <GraphList {...props} /> : <Suspense fallback={<Loading />}><Flow {...props} /></Suspense>}
    </div>
  );
}

/** The same as a table: each node with those before and after it. */
function GraphList({ label, nodes, edges, onSelect, dimmed, kindTitle }: GraphProps) {
  const t = useTexts(TEXTS).graph;
  const kind = kindTitle ?? t.kind;
  const rows = useMemo(() => {
    const names = new Map(nodes.map((node) => [node.id, node.label]));
    const before = new Map<string, string[]>();
    const after = new Map<string, string[]>();
    for (const { source, target } of edges) {
      const from = names.get(source);
      const to = names.get(target);
      if (from === undefined || to === undefined) continue;
      before.set(target, [...(before.get(target) ?? []), from]);
      after.set(source, [...(after.get(source) ?? []), to]);
    }
    return nodes.map((node) => ({ node, before: before.get(node.id) ?? [], after: after.get(node.id) ?? [] }));
  }, [nodes, edges]);
  type Row = (typeof rows)[number];
  const columns: Columns<Row> = [
    {
      header: t.name, accessorFn: (row) => row.node.label,
      cell: ({ row: { original: { node } } }) => {
        const name = <span className={dimmed?.has(node.id) ? "faint" : "strong"}>{marked(node.label)}</span>;
        return onSelect ? <button type="button" className="graph-link" onClick={() => onSelect(node.id)}>{name}</button> : name;
      },
    },
    { header: kind, accessorFn: (row) => row.node.kind ?? "", cell: ({ row }) => row.original.node.kind && <Tag>{row.original.node.kind}</Tag> },
    { header: t.state, accessorFn: (row) => row.node.state ?? "", cell: ({ row }) => <State value={row.original.node.state} /> },
    { header: t.before, accessorFn: (row) => row.before.join(", ") },
    { header: t.after, accessorFn: (row) => row.after.join(", ") },
  ];
  const isUsed = (read: (node: GraphNode) => string | undefined) => nodes.some(read);
  return (
    <DataTable label={label} rows={rows} keyOf={(row) => row.node.id} columns={columns.filter((column) =>
      (column.header !== kind || isUsed((node) => node.kind)) && (column.header !== t.state || isUsed((node) => node.state)))} />
  );
}
