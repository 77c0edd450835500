/** The drawing of a graph. Only what is in sight is drawn, and a node only again when it changed. */
import {
  type Edge, type EdgeProps, MiniMap, type Node, type NodeProps, Position, ReactFlow, ReactFlowProvider, useReactFlow, useStore,
} from "@xyflow/react";
import "@xyflow/react/dist/base.css";
import { type KeyboardEvent, memo, useEffect, useId, useMemo, useRef, useState } from "react";
import { useTexts } from "../i18n";
import { IconButton } from "./controls";
import type { GraphNode, GraphProps } from "./graph";
import { type Layout, layOut, NODE_HEIGHT, NODE_WIDTH, type Point } from "./graph-layout";
import { Lines, lineAt, LINES_FROM } from "./graph-lines";
import { marked } from "./marks";
import { Failure, Loading, stateText, toneOf } from "./page";
import { TEXTS } from "./texts";

interface Marks {
  domId: string;
  stateText: string;
  isSelected: boolean;
  isCurrent: boolean;
  isDimmed: boolean;
}

interface Drawn extends Marks, Record<string, unknown> {
  node: GraphNode;
}

interface Line extends Record<string, unknown> {
  source: string;
  target: string;
  points: Point[];
  label?: string;
  isSelected: boolean;
  isDimmed: boolean;
}

/** Below this scale a label cannot be read: a large graph opens at it, not as a whole. */
const READABLE = 0.55;
/** Below this one, no letter can be told from another: nodes are drawn without them. */
const FAR = 0.2;
const MAP_FROM = 40;
const MARGIN_PX = 24;
/** An edge is pressed if it is so near. */
const REACH_PX = 8;
const NO_EDGES: Edge<Line>[] = [];

const nodeTypes = { node: memo(NodeBox) };
const edgeTypes = { edge: memo(EdgeLine) };

export default function Flow(props: GraphProps) {
  const { nodes, edges, direction = "RIGHT" } = props;
  const [layout, setLayout] = useState<Layout | null>(null);
  const [error, setError] = useState<unknown>(null);
  // A change of states or notes leaves every node where it is.
  const shape = useMemo(
    () => JSON.stringify([direction, nodes.map((node) => [node.id, node.width, node.height]), edges]),
    [nodes, edges, direction],
  );
  useEffect(() => {
    let isCurrent = true;
    setError(null);
    layOut(nodes, edges, direction).then(
      (laid) => isCurrent && setLayout(laid),
      (reason: unknown) => isCurrent && setError(reason),
    );
    return () => {
      isCurrent = false;
    };
    // `shape` stands for what the layout depends on.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [shape]);
  if (error) return <Failure error={error} />;
  if (!layout) return <Loading />;
  return <ReactFlowProvider><Drawing {...props} layout={layout} /></ReactFlowProvider>;
}

function Drawing({ label, nodes, layout, direction = "RIGHT", selected, onSelect, onSelectEdge, selectedEdge, dimmed, inSight, height }: GraphProps & { layout: Layout }) {
  const t = useTexts(TEXTS);
  const flow = useReactFlow();
  const isFar = useStore((state) => state.transform[2] < FAR);
  const box = useRef<HTMLDivElement>(null);
  const prefix = useId();
  const [current, setCurrent] = useState<string | null>(null);
  const [isFocused, setFocused] = useState(false);
  const marked = current !== null && layout.places.has(current) ? current : (selected ?? null);

  const drawn = useNodes(nodes, layout, direction, (node) => ({
    domId: `${prefix}${node.id}`,
    stateText: node.state ? stateText(t.states, node.state) : "",
    isSelected: node.id === selected,
    isCurrent: isFocused && node.id === marked,
    isDimmed: dimmed?.has(node.id) ?? false,
  }));
  const names = useMemo(() => new Map(nodes.map((node) => [node.id, node.label])), [nodes]);
  const lines = useLines(layout, names, (edge) => ({
    isSelected: (selected != null && (edge.source === selected || edge.target === selected))
      || (selectedEdge != null && edge.source === selectedEdge.source && edge.target === selectedEdge.target),
    isDimmed: (dimmed?.has(edge.source) || dimmed?.has(edge.target)) ?? false,
  }));

  // Many edges are drawn together, not one by one.
  const together = useMemo(() => {
    if (lines.length <= LINES_FROM || lines.some((line) => line.data?.label)) return null;
    // The layout of the graph before stands until the new one is there.
    const known = new Set(nodes.map((node) => node.id));
    return lines.flatMap((line) => (line.data && known.has(line.source) && known.has(line.target) ? line.data : []));
  }, [lines, nodes]);

  const sizeOfBox = (): [number, number] => [box.current?.clientWidth ?? 0, box.current?.clientHeight ?? 0];
  /** Brings a part into the middle, as large as it can be seen whole. */
  const fit = (part: { x: number; y: number; width: number; height: number }, duration: number) => {
    const [width, tall] = sizeOfBox();
    if (width === 0 || tall === 0) return;
    const zoom = scaleOfWhole(part, width, tall);
    void flow.setViewport({ zoom, x: (width - part.width * zoom) / 2 - part.x * zoom, y: (tall - part.height * zoom) / 2 - part.y * zoom }, { duration });
  };
  const whole = (duration = 200) => fit({ x: 0, y: 0, width: layout.width, height: layout.height }, duration);

  /** The whole graph if it can be read so, else its beginning or the selected node. */
  const open = () => {
    const [width, tall] = sizeOfBox();
    if (width === 0 || tall === 0) return;
    if (scaleOfWhole(layout, width, tall) >= READABLE) {
      whole(0);
      return;
    }
    const chosen = layout.places.get(selected ?? "");
    const first = chosen ?? startOf(layout, direction);
    if (!first) return;
    const isRight = direction === "RIGHT";
    const x = chosen || !isRight ? width / 2 - (first.x + NODE_WIDTH / 2) * READABLE : MARGIN_PX - first.x * READABLE;
    const y = chosen || isRight ? tall / 2 - (first.y + NODE_HEIGHT / 2) * READABLE : MARGIN_PX - first.y * READABLE;
    void flow.setViewport({ zoom: READABLE, x, y });
  };
  // Another graph is shown from its beginning; `open` reads what is selected then.
  // eslint-disable-next-line react-hooks/exhaustive-deps
  useEffect(() => open(), [layout]);
  // So it is in a box of another size. Once the reader has moved it, only what is selected is kept in sight.
  const isMoved = useRef(false);
  const reopen = useRef(open);
  reopen.current = () => {
    if (!isMoved.current) open();
    else if (selected != null) show(selected);
  };
  useEffect(() => {
    const watch = new ResizeObserver(() => reopen.current());
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);

  useEffect(() => {
    const places = [...(inSight ?? [])].flatMap((id) => layout.places.get(id) ?? []);
    if (places.length === 0) return;
    const [x, y] = [Math.min(...places.map((place) => place.x)), Math.min(...places.map((place) => place.y))];
    fit({
      x, y, width: Math.max(...places.map((place) => place.x)) + NODE_WIDTH - x, height: Math.max(...places.map((place) => place.y)) + NODE_HEIGHT - y,
    }, 200);
    // Only what is to be in sight moves the drawing.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [inSight, layout]);

  const show = (id: string) => {
    const place = layout.places.get(id);
    if (!place || !box.current) return;
    const { x, y, zoom } = flow.getViewport();
    const node = drawn.find((one) => one.id === id);
    const left = place.x * zoom + x;
    const top = place.y * zoom + y;
    const isInSight = left >= 0 && top >= 0 && left + (node?.width ?? 0) * zoom <= box.current.clientWidth
      && top + (node?.height ?? 0) * zoom <= box.current.clientHeight;
    if (isInSight) return;
    isMoved.current = true;
    void flow.setCenter(place.x + NODE_WIDTH / 2, place.y + NODE_HEIGHT / 2, { zoom: Math.max(zoom, READABLE), duration: 150 });
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") {
      if (marked !== null) onSelect?.(marked);
    } else if (event.key === "+" || event.key === "=") {
      void flow.zoomIn({ duration: 150 });
    } else if (event.key === "-") {
      void flow.zoomOut({ duration: 150 });
    } else if (event.key === "0") {
      whole();
    } else {
      const next = nextOf(event.key, marked, layout, direction);
      if (next === undefined) return;
      setCurrent(next);
      show(next);
    }
    event.preventDefault();
  };
  const active = marked === null ? undefined : nodes.find((node) => node.id === marked);
  return (
    <div className={`graph-box${onSelectEdge ? " edges" : ""}${isFar ? " far" : ""}`} style={{ blockSize: height ?? "26rem" }}>
      <div ref={box} className="graph-keys" role="application" tabIndex={0} aria-label={`${label}. ${t.graph.keys}`}
        aria-activedescendant={isFocused && marked !== null ? `${prefix}${marked}` : undefined}
        onKeyDown={pressed} onFocus={(event) => event.target === event.currentTarget && setFocused(true)} onBlur={() => setFocused(false)}>
        <ReactFlow
          nodes={drawn} edges={together ? NO_EDGES : lines} nodeTypes={nodeTypes} edgeTypes={edgeTypes} onlyRenderVisibleElements
          nodesDraggable={false} nodesConnectable={false} nodesFocusable={false} edgesFocusable={false} elementsSelectable={false}
          disableKeyboardA11y deleteKeyCode={null} selectionKeyCode={null} multiSelectionKeyCode={null} zoomOnDoubleClick={false}
          minZoom={0.02} maxZoom={2} onInit={() => open()} onMove={(event) => {
            // Without an event it is moved by this page itself. A press alone moves nothing.
            if (event) isMoved.current = true;
          }}
          onNodeClick={(_, node) => {
            setCurrent(node.id);
            onSelect?.(node.id);
          }}
          {...(onSelectEdge ? { onEdgeClick: (_: unknown, edge: Edge) => onSelectEdge(edge.source, edge.target) } : {})}
          onPaneClick={(event) => {
            const line = onSelectEdge && together
              && lineAt(together, flow.screenToFlowPosition({ x: event.clientX, y: event.clientY }), REACH_PX / flow.getZoom());
            if (line) onSelectEdge(line.source, line.target);
            else onSelect?.(null);
          }}
        >
          {together && <Lines lines={together} />}
          {nodes.length >= MAP_FROM && <MiniMap pannable zoomable ariaLabel={null} nodeClassName={(node) => `tone ${toneOf((node as Node<Drawn>).data.node.state)}`} />}
        </ReactFlow>
      </div>
      <div className="graph-zoom">
        <IconButton icon="plus" label={t.graph.zoomIn} onPress={() => void flow.zoomIn({ duration: 150 })} />
        <IconButton icon="minus" label={t.graph.zoomOut} onPress={() => void flow.zoomOut({ duration: 150 })} />
        <IconButton icon="fit" label={t.graph.whole} onPress={() => whole()} />
      </div>
      <p className="hidden" aria-live="polite">
        {isFocused && active && [active.label, active.kind, active.state && stateText(t.states, active.state), active.note].filter(Boolean).join(", ")}
      </p>
    </div>
  );
}

/** The node in the middle of the first layer. */
function startOf(layout: Layout, direction: "RIGHT" | "DOWN"): Point | undefined {
  const isRight = direction === "RIGHT";
  const sources = new Set(layout.edges.map((edge) => edge.source));
  const all = [...layout.places].filter(([id]) => sources.has(id) || sources.size === 0).map(([, point]) => point);
  const begin = Math.min(...all.map((point) => (isRight ? point.x : point.y)));
  const layer = all.filter((point) => (isRight ? point.x : point.y) === begin).sort((one, other) => (isRight ? one.y - other.y : one.x - other.x));
  return layer[Math.floor(layer.length / 2)];
}

function scaleOfWhole(layout: { width: number; height: number }, width: number, height: number): number {
  const scale = Math.min(1, (width - MARGIN_PX) / Math.max(layout.width, 1), (height - MARGIN_PX) / Math.max(layout.height, 1));
  return Math.max(scale, 0.02);
}

/** The nodes as the library wants them. One that has not changed stays the same object, so that it is not drawn again. */
function useNodes(nodes: readonly GraphNode[], layout: Layout, direction: "RIGHT" | "DOWN", mark: (node: GraphNode) => Marks) {
  const kept = useRef(new Map<string, { key: string; node: Node<Drawn> }>());
  const next = new Map<string, { key: string; node: Node<Drawn> }>();
  const drawn: Node<Drawn>[] = [];
  for (const node of nodes) {
    const position = layout.places.get(node.id);
    if (!position) continue;
    const data: Drawn = { node, ...mark(node) };
    const key = JSON.stringify([data, position, direction]);
    const before = kept.current.get(node.id);
    const entry = before?.key === key ? before : { key, node: asNode(node, data, position, direction) };
    next.set(node.id, entry);
    drawn.push(entry.node);
  }
  kept.current = next;
  // The list, too, stays the same while its members do.
  const list = useRef(drawn);
  if (list.current.length !== drawn.length || drawn.some((node, place) => list.current[place] !== node)) list.current = drawn;
  return list.current;
}

/** The edges, as `useNodes`: of a thousand only those that change are drawn again. */
function useLines(layout: Layout, names: ReadonlyMap<string, string>, mark: (edge: Layout["edges"][number]) => Pick<Line, "isSelected" | "isDimmed">) {
  const kept = useRef<{ layout: Layout; lines: Edge<Line>[] }>({ layout, lines: [] });
  const before = kept.current.layout === layout ? kept.current.lines : [];
  const lines = layout.edges.map((edge, place): Edge<Line> => {
    const marks = mark(edge);
    const old = before[place];
    if (old?.data && old.data.isSelected === marks.isSelected && old.data.isDimmed === marks.isDimmed) return old;
    return {
      id: edge.id, source: edge.source, target: edge.target, type: "edge", zIndex: marks.isSelected ? 1 : 0,
      ariaLabel: `${names.get(edge.source) ?? edge.source} → ${names.get(edge.target) ?? edge.target}`,
      data: { source: edge.source, target: edge.target, points: edge.points, ...marks, ...(edge.label ? { label: edge.label } : {}) },
    };
  });
  const isSame = before.length === lines.length && lines.every((line, place) => line === before[place]);
  if (!isSame || kept.current.layout !== layout) kept.current = { layout, lines };
  return kept.current.lines;
}

function asNode(node: GraphNode, data: Drawn, position: Point, direction: "RIGHT" | "DOWN"): Node<Drawn> {
  const width = node.width ?? NODE_WIDTH;
  const height = node.height ?? NODE_HEIGHT;
  const isRight = direction === "RIGHT";
  // Sizes and the places of the edges' ends are known: nothing has to be drawn to be measured.
  const end = (type: "source" | "target", x: number, y: number, side: Position) => ({ type, x, y, position: side, width: 1, height: 1 });
  return {
    id: node.id, type: "node", position, data, width, height, measured: { width, height },
    sourcePosition: isRight ? Position.Right : Position.Bottom, targetPosition: isRight ? Position.Left : Position.Top,
    handles: isRight
      ? [end("target", 0, height / 2, Position.Left), end("source", width, height / 2, Position.Right)]
      : [end("target", width / 2, 0, Position.Top), end("source", width / 2, height, Position.Bottom)],
  };
}

function NodeBox({ data: { node, domId, stateText: state, isSelected, isCurrent, isDimmed }, sourcePosition, targetPosition }: NodeProps<Node<Drawn>>) {
  const classes = ["graph-node", toneOf(node.state), isSelected && "selected", isCurrent && "current", isDimmed && "dimmed"];
  const small = [node.kind, state, node.note].filter(Boolean).join(" · ");
  return (
    <div id={domId} className={classes.filter(Boolean).join(" ")} role="img" aria-label={[node.label, small].filter(Boolean).join(", ")}
      title={small ? `${node.label}\n${small}` : node.label}>
      <span className="graph-label">{marked(node.label)}</span>
      {small && (
        <span className="graph-note">
          {node.kind && <span className="graph-kind">{node.kind}</span>}
          {state && <span className="graph-state">{state}</span>}
          {node.note && <span className="graph-more">{node.note}</span>}
        </span>
      )}
      {/* The library looks for the ends of edges in what is drawn, by these names, and forgets those that it was told. Its own
          element for them would watch every movement of the graph. */}
      <span className="graph-end target" data-handlepos={targetPosition ?? Position.Left} />
      <span className="graph-end source" data-handlepos={sourcePosition ?? Position.Right} />
    </div>
  );
}

function EdgeLine({ data, sourceX, sourceY, targetX, targetY }: EdgeProps<Edge<Line>>) {
  if (!data) return null;
  const points = data.points.length > 1 ? data.points : [{ x: sourceX, y: sourceY }, { x: targetX, y: targetY }];
  const tip = points.at(-1)!;
  const last = points.at(-2)!;
  const angle = (Math.atan2(tip.y - last.y, tip.x - last.x) * 180) / Math.PI;
  const middle = points[Math.floor(points.length / 2)]!;
  return (
    <g className={`graph-edge${data.isSelected ? " selected" : ""}${data.isDimmed ? " dimmed" : ""}`}>
      <path className="hit" d={rounded(points)} />
      <path d={rounded(points)} />
      <path className="head" d="M-8,-4L0,0L-8,4Z" transform={`translate(${tip.x},${tip.y}) rotate(${angle})`} />
      {data.label && <text x={middle.x} y={middle.y - 4}>{data.label}</text>}
    </g>
  );
}

const CORNER = 8;

/** A line through the points with round corners. */
function rounded(points: readonly Point[]): string {
  let path = `M${points[0]!.x},${points[0]!.y}`;
  for (let place = 1; place < points.length - 1; place += 1) {
    const [before, here, after] = [points[place - 1]!, points[place]!, points[place + 1]!];
    const from = towards(here, before);
    const to = towards(here, after);
    path += `L${from.x},${from.y}Q${here.x},${here.y} ${to.x},${to.y}`;
  }
  const end = points.at(-1)!;
  return `${path}L${end.x},${end.y}`;
}

function towards(from: Point, to: Point): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  if (length === 0) return from;
  const part = Math.min(CORNER, length / 2) / length;
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}

/** The node that an arrow key leads to: along an edge, or to the neighbour in the same layer. */
function nextOf(key: string, from: string | null, layout: Layout, direction: "RIGHT" | "DOWN"): string | undefined {
  const isRight = direction === "RIGHT";
  const forward = isRight ? "ArrowRight" : "ArrowDown";
  const back = isRight ? "ArrowLeft" : "ArrowUp";
  const isArrow = ["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"].includes(key);
  const all = [...layout.places];
  const along = (point: Point) => (isRight ? point.x : point.y);
  const across = (point: Point) => (isRight ? point.y : point.x);
  const ordered = () => all.sort(([, a], [, b]) => along(a) - along(b) || across(a) - across(b));
  if (key === "Home" || (isArrow && from === null)) return ordered()[0]?.[0];
  if (key === "End") return ordered().at(-1)?.[0];
  const here = from === null ? undefined : layout.places.get(from);
  if (!isArrow || !here) return undefined;
  const nearest = (ids: readonly string[]) => {
    const near = (id: string) => Math.abs(across(layout.places.get(id) ?? here) - across(here));
    return [...ids].sort((a, b) => near(a) - near(b))[0];
  };
  if (key === forward) return nearest(layout.edges.filter((edge) => edge.source === from).map((edge) => edge.target));
  if (key === back) return nearest(layout.edges.filter((edge) => edge.target === from).map((edge) => edge.source));
  const isAfter = key === (isRight ? "ArrowDown" : "ArrowRight");
  // In a layer the nodes' beginnings may differ by their sizes.
  const sameLayer = all.filter(([id, point]) => id !== from && Math.abs(along(point) - along(here)) < NODE_WIDTH / 2
    && (isAfter ? across(point) > across(here) : across(point) < across(here)));
  return nearest(sameLayer.map(([id]) => id));
}
