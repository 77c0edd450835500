/**
 * The layered layout of large graphs. It does what ELK does (layers, an order in each with few crossings, places near the
 * neighbours) with less care, and lays out thousands of nodes in the time that ELK takes for some hundred.
 */

export interface Box {
  /** Along the direction of the edges, and across it. */
  length: number;
  breadth: number;
}

export interface Placed {
  /** The beginning of each node, along and across. */
  nodes: { along: number; across: number }[];
  /** The points of each edge; none where it was not drawn. */
  edges: { along: number; across: number }[][];
  length: number;
  breadth: number;
}

const BETWEEN_LAYERS = 110;
const BETWEEN_NODES = 18;
const BETWEEN_LINES = 8;
const BETWEEN_PARTS = 44;
const MARGIN = 12;
const SWEEPS = 8;

/** A node, or the place where a long edge passes a layer. */
interface Spot {
  /** The node's number; -1: an edge passes. */
  node: number;
  layer: number;
  breadth: number;
  length: number;
  before: Spot[];
  after: Spot[];
  /** Its place in its layer, then its centre. */
  place: number;
  centre: number;
}

export function layOutQuickly(boxes: readonly Box[], edges: readonly (readonly [number, number])[]): Placed {
  const placed: Placed = { nodes: boxes.map(() => ({ along: 0, across: 0 })), edges: edges.map(() => []), length: 0, breadth: 0 };
  const parts = partsOf(boxes.length, edges);
  let across = MARGIN;
  for (const part of parts.connected) {
    const size = layOutPart(boxes, edges, part, across, placed);
    across += size.breadth + BETWEEN_PARTS;
    placed.length = Math.max(placed.length, size.length);
  }
  // Nodes without an edge stand at the end, in rows as wide as the rest.
  const width = Math.max(placed.length, 1_400);
  let along = MARGIN;
  let row = 0;
  for (const node of parts.single) {
    const { length, breadth } = boxes[node]!;
    if (along > MARGIN && along + length > width) {
      along = MARGIN;
      across += row + BETWEEN_NODES;
      row = 0;
    }
    placed.nodes[node] = { along, across };
    along += length + BETWEEN_NODES;
    row = Math.max(row, breadth);
    placed.length = Math.max(placed.length, along);
  }
  placed.breadth = across + row + MARGIN;
  return placed;
}

interface Part {
  nodes: number[];
  /** Numbers of edges. */
  edges: number[];
}

/** What hangs together, the largest first, and the nodes without an edge. */
function partsOf(count: number, edges: readonly (readonly [number, number])[]): { connected: Part[]; single: number[] } {
  const parent = Array.from({ length: count }, (_, node) => node);
  const root = (node: number) => {
    while (parent[node] !== node) {
      parent[node] = parent[parent[node]!]!;
      node = parent[node]!;
    }
    return node;
  };
  for (const [from, to] of edges) parent[root(from)] = root(to);
  const parts = new Map<number, Part>();
  for (let node = 0; node < count; node += 1) {
    const part = parts.get(root(node)) ?? { nodes: [], edges: [] };
    part.nodes.push(node);
    parts.set(root(node), part);
  }
  edges.forEach(([from], place) => parts.get(root(from))!.edges.push(place));
  const all = [...parts.values()];
  return {
    connected: all.filter((part) => part.nodes.length > 1).sort((one, other) => other.nodes.length - one.nodes.length),
    single: all.filter((part) => part.nodes.length === 1).map((part) => part.nodes[0]!),
  };
}

function layOutPart(boxes: readonly Box[], edges: readonly (readonly [number, number])[], part: Part, start: number, placed: Placed) {
  const layerOf = layersOf(part, edges);
  const spots = new Map<number, Spot>();
  const layers: Spot[][] = [];
  const put = (node: number, layer: number): Spot => {
    const box = boxes[node] ?? { length: 0, breadth: 0 };
    const spot: Spot = { node, layer, breadth: box.breadth, length: box.length, before: [], after: [], place: 0, centre: 0 };
    (layers[layer] ??= []).push(spot);
    return spot;
  };
  const join = (from: Spot, to: Spot) => {
    from.after.push(to);
    to.before.push(from);
  };
  for (const node of part.nodes) spots.set(node, put(node, layerOf.get(node)!));
  const ways = part.edges.map((edge) => {
    let [from, to] = edges[edge]!;
    // An edge of a circle runs back: it is laid out the other way round, and drawn as it is.
    const isBack = layerOf.get(from)! > layerOf.get(to)!;
    if (isBack) [from, to] = [to, from];
    const way = [spots.get(from)!];
    for (let layer = way[0]!.layer + 1; layer < layerOf.get(to)!; layer += 1) {
      const passing = put(-1, layer);
      join(way.at(-1)!, passing);
      way.push(passing);
    }
    join(way.at(-1)!, spots.get(to)!);
    way.push(spots.get(to)!);
    return { edge, way, isBack };
  });
  order(layers);
  place(layers);

  const ends = [0];
  layers.forEach((layer, number) => ends.push(ends[number]! + Math.max(...layer.map((spot) => spot.length)) + BETWEEN_LAYERS));
  const first = Math.min(...layers.flat().map((spot) => spot.centre - spot.breadth / 2));
  const last = Math.max(...layers.flat().map((spot) => spot.centre + spot.breadth / 2));
  const shift = start - first;
  const along = (layer: number) => MARGIN + ends[layer]!;
  for (const [node, spot] of spots) placed.nodes[node] = { along: along(spot.layer), across: spot.centre - spot.breadth / 2 + shift };
  for (const { edge, way, isBack } of ways) {
    const points = way.flatMap((spot, number) => {
      const across = spot.centre + shift;
      const from = along(spot.layer);
      const to = spot.node < 0 ? along(spot.layer + 1) - BETWEEN_LAYERS : from + spot.length;
      if (number === 0) return [{ along: to, across }];
      return number === way.length - 1 ? [{ along: from, across }] : [{ along: from, across }, { along: to, across }];
    });
    placed.edges[edge] = isBack ? points.reverse() : points;
  }
  return { length: MARGIN * 2 + ends.at(-1)! - BETWEEN_LAYERS, breadth: last - first };
}

/** The layer of each node: behind all that come before it. An edge that would close a circle does not count. */
function layersOf(part: Part, edges: readonly (readonly [number, number])[]): Map<number, number> {
  const after = new Map<number, number[]>(part.nodes.map((node) => [node, []]));
  const waits = new Map<number, number>(part.nodes.map((node) => [node, 0]));
  for (const edge of part.edges) {
    const [from, to] = edges[edge]!;
    after.get(from)!.push(to);
    waits.set(to, waits.get(to)! + 1);
  }
  const layer = new Map<number, number>();
  const ordered: number[] = [];
  const ready = part.nodes.filter((node) => waits.get(node) === 0);
  const left = new Set(part.nodes);
  while (left.size > 0) {
    // Only circles are left: one of their nodes begins.
    const node = ready.pop() ?? (left.values().next().value as number);
    if (!left.delete(node)) continue;
    ordered.push(node);
    const here = layer.get(node) ?? 0;
    layer.set(node, here);
    for (const next of after.get(node)!) {
      if (!left.has(next)) continue;
      layer.set(next, Math.max(layer.get(next) ?? 0, here + 1));
      waits.set(next, waits.get(next)! - 1);
      if (waits.get(next)! === 0) ready.push(next);
    }
  }
  // A node with nothing before it moves up to what comes after it.
  const hasBefore = new Set(part.edges.map((edge) => edges[edge]![1]));
  for (const node of ordered) {
    if (hasBefore.has(node)) continue;
    const next = after.get(node)!.map((one) => layer.get(one)!).filter((one) => one > layer.get(node)!);
    if (next.length > 0) layer.set(node, Math.min(...next) - 1);
  }
  const used = [...new Set(layer.values())].sort((one, other) => one - other);
  const numbers = new Map(used.map((one, place) => [one, place]));
  return new Map([...layer].map(([node, one]) => [node, numbers.get(one)!]));
}

/** The order in each layer: each spot goes to the middle of its neighbours in the layer before, then in the one behind. */
function order(layers: Spot[][]) {
  const number = (layer: Spot[]) => layer.forEach((spot, place) => (spot.place = place));
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isForward = sweep % 2 === 0;
    for (const layer of isForward ? layers : [...layers].reverse()) {
      const middle = new Map(layer.map((spot) => [spot, mean(isForward ? spot.before : spot.after, (one) => one.place) ?? spot.place]));
      layer.sort((one, other) => middle.get(one)! - middle.get(other)!);
      number(layer);
    }
  }
}

/** The centres: as near to the neighbours as the order and the space between two allow. */
function place(layers: Spot[][]) {
  for (const layer of layers) {
    let at = 0;
    for (const spot of layer) {
      spot.centre = at + spot.breadth / 2;
      at += spot.breadth + gap(spot);
    }
    for (const spot of layer) spot.centre -= at / 2;
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const isForward = sweep % 2 === 0;
    for (const layer of isForward ? layers : [...layers].reverse()) settle(layer, isForward);
  }
}

/** Runs of spots that press on each other move as one, to the mean of what they want. */
function settle(layer: readonly Spot[], isForward: boolean) {
  const runs: { spots: Spot[]; offsets: number[]; wanted: number; length: number }[] = [];
  for (const spot of layer) {
    const wanted = mean(isForward ? spot.before : spot.after, (one) => one.centre) ?? spot.centre;
    let run = { spots: [spot], offsets: [0], wanted, length: 0 };
    for (let before = runs.at(-1); before; before = runs.at(-1)) {
      const space = distance(before.spots.at(-1)!, run.spots[0]!);
      if (before.wanted + before.length + space <= run.wanted) break;
      runs.pop();
      const offset = before.length + space;
      const count = before.spots.length + run.spots.length;
      run = {
        spots: before.spots.concat(run.spots),
        offsets: before.offsets.concat(run.offsets.map((one) => one + offset)),
        wanted: (before.wanted * before.spots.length + (run.wanted - offset) * run.spots.length) / count,
        length: offset + run.length,
      };
    }
    runs.push(run);
  }
  for (const run of runs) run.spots.forEach((spot, number) => (spot.centre = run.wanted + run.offsets[number]!));
}

function gap(spot: Spot): number {
  return spot.node < 0 ? BETWEEN_LINES : BETWEEN_NODES;
}

function distance(one: Spot, other: Spot): number {
  return (one.breadth + other.breadth) / 2 + Math.max(gap(one), gap(other));
}

function mean(spots: readonly Spot[], value: (spot: Spot) => number): number | undefined {
  if (spots.length === 0) return undefined;
  let sum = 0;
  for (const spot of spots) sum += value(spot);
  return sum / spots.length;
}
