/** Where the nodes of a graph stand: ELK's layered layout, computed in a worker of our own host; a quicker one if there are many. */
import ELK, { type ElkExtendedEdge, type ElkNode } from "elkjs/lib/elk-api";
import workerUrl from "elkjs/lib/elk-worker.min.js?url";
import type { GraphDirection, GraphEdge, GraphNode } from "./graph";
import { layOutQuickly } from "./graph-quick";

export const NODE_WIDTH = 210;
export const NODE_HEIGHT = 54;

export interface Point {
  x: number;
  y: number;
}

export interface Layout {
  /** Left upper corner of each node, by its id. */
  places: Map<string, Point>;
  edges: { id: string; source: string; target: string; label?: string; points: Point[] }[];
  width: number;
  height: number;
}

/** Above this many nodes ELK would take seconds. */
const LARGE = 100;

/** What lies between two layers is at most so wide: the more edges, the closer they run. */
const CHANNEL = 150;

let broken: Promise<never> | undefined;
let engine: InstanceType<typeof ELK> | undefined;

/** The worker, which stays for the next graph; `broken` fails if it cannot be loaded. */
function start() {
  if (engine) return engine;
  let fail: (reason: Error) => void = () => undefined;
  broken = new Promise((_, reject) => {
    fail = reject;
  });
  broken.catch(() => undefined);
  engine = new ELK({
    workerFactory: () => {
      const worker = new Worker(workerUrl);
      worker.addEventListener("error", (event) => {
        engine = undefined;
        fail(new Error(event.message || "the layout's worker did not start"));
      });
      return worker;
    },
  });
  return engine;
}

/** Lays the graph out. Edges that name a node that is not there, or lead to their own node, are left out. */
export async function layOut(nodes: readonly GraphNode[], edges: readonly GraphEdge[], direction: GraphDirection): Promise<Layout> {
  const known = new Set(nodes.map((node) => node.id));
  const drawn = edges.filter((edge) => known.has(edge.source) && known.has(edge.target) && edge.source !== edge.target);
  if (nodes.length > LARGE) return layOutMany(nodes, drawn, direction);
  const graph: ElkNode = {
    id: "",
    layoutOptions: {
      algorithm: "layered",
      "elk.direction": direction,
      "elk.spacing.nodeNode": "18",
      "elk.layered.spacing.nodeNodeBetweenLayers": "56",
      "elk.layered.spacing.edgeNodeBetweenLayers": "16",
      "elk.spacing.edgeEdge": "8",
      "elk.spacing.componentComponent": "36",
      "elk.padding": "[top=12,left=12,bottom=12,right=12]",
      "elk.edgeRouting": "ORTHOGONAL",
      "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
      "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
    },
    children: nodes.map((node) => ({ id: node.id, width: node.width ?? NODE_WIDTH, height: node.height ?? NODE_HEIGHT })),
    edges: drawn.map((edge, place) => ({ id: `edge ${place}`, sources: [edge.source], targets: [edge.target] })),
  };
  const laid = await Promise.race([start().layout(graph), broken!]);
  const routed = (laid.edges ?? []) as ElkExtendedEdge[];
  const squeeze = squeezer(laid.children ?? [], direction);
  const placed = (x: number, y: number): Point => (direction === "RIGHT" ? { x: squeeze(x), y } : { x, y: squeeze(y) });
  const end = placed(laid.width ?? 0, laid.height ?? 0);
  return {
    places: new Map((laid.children ?? []).map((node) => {
      const { x, y } = placed(node.x ?? 0, node.y ?? 0);
      return [node.id, { x: Math.round(x), y: Math.round(y) }];
    })),
    edges: drawn.map((edge, place) => {
      const section = routed[place]?.sections?.[0];
      const points = section ? [section.startPoint, ...(section.bendPoints ?? []), section.endPoint] : [];
      return { ...edge, id: `${edge.source} ${edge.target} ${place}`, points: points.map((point) => placed(point.x, point.y)) };
    }),
    width: end.x,
    height: end.y,
  };
}

function layOutMany(nodes: readonly GraphNode[], edges: readonly GraphEdge[], direction: GraphDirection): Layout {
  const isRight = direction === "RIGHT";
  const numbers = new Map(nodes.map((node, number) => [node.id, number]));
  const placed = layOutQuickly(
    nodes.map(({ width = NODE_WIDTH, height = NODE_HEIGHT }) => (isRight ? { length: width, breadth: height } : { length: height, breadth: width })),
    edges.map((edge) => [numbers.get(edge.source)!, numbers.get(edge.target)!]),
  );
  const point = (one: { along: number; across: number }): Point => {
    const [along, across] = [Math.round(one.along), Math.round(one.across)];
    return isRight ? { x: along, y: across } : { x: across, y: along };
  };
  const end = point({ along: placed.length, across: placed.breadth });
  return {
    places: new Map(nodes.map((node, number) => [node.id, point(placed.nodes[number]!)])),
    edges: edges.map((edge, number) => ({ ...edge, id: `${edge.source} ${edge.target} ${number}`, points: placed.edges[number]!.map(point) })),
    width: end.x,
    height: end.y,
  };
}

/** Draws the layers together where many edges have pushed them apart; what is in a layer keeps its size. */
function squeezer(nodes: readonly ElkNode[], direction: GraphDirection): (at: number) => number {
  const isRight = direction === "RIGHT";
  const spans = nodes
    .map((node) => (isRight ? [node.x ?? 0, (node.x ?? 0) + (node.width ?? 0)] : [node.y ?? 0, (node.y ?? 0) + (node.height ?? 0)]) as [number, number])
    .sort((one, other) => one[0] - other[0]);
  const channels: { from: number; to: number }[] = [];
  let reached = spans[0]?.[1] ?? 0;
  for (const [from, to] of spans) {
    if (from - reached > CHANNEL) channels.push({ from: reached, to: from });
    reached = Math.max(reached, to);
  }
  return (at) => {
    let saved = 0;
    for (const { from, to } of channels) {
      if (at <= from) break;
      saved += (Math.min(at, to) - from) * (1 - CHANNEL / (to - from));
    }
    return at - saved;
  };
}
