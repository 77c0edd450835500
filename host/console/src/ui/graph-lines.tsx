/**
 * The edges of a large graph as a few paths that move with the ground. As an element each, a thousand edges would be asked
 * about their place at every movement.
 */
import { ViewportPortal } from "@xyflow/react";
import { memo } from "react";
import type { Point } from "./graph-layout";

/** Above this many edges they are drawn so. */
export const LINES_FROM = 300;

export interface Drawable {
  source: string;
  target: string;
  points: readonly Point[];
  isSelected: boolean;
  isDimmed: boolean;
}

export const Lines = memo(function Lines({ lines }: { lines: readonly Drawable[] }) {
  const groups = [
    { name: "dimmed", members: lines.filter((line) => line.isDimmed && !line.isSelected) },
    { name: "", members: lines.filter((line) => !line.isDimmed && !line.isSelected) },
    { name: "selected", members: lines.filter((line) => line.isSelected) },
  ];
  return (
    <ViewportPortal>
      <svg className="graph-lines" aria-hidden="true">
        {groups.map(({ name, members }) => members.length > 0 && (
          <g key={name} className={`graph-edge ${name}`}>
            <path d={members.map(({ points }) => points.map(({ x, y }, place) => `${place === 0 ? "M" : "L"}${x},${y}`).join("")).join("")} />
            <path className="head" d={members.map(({ points }) => head(points)).join("")} />
          </g>
        ))}
      </svg>
    </ViewportPortal>
  );
});

const HEAD = 8;

function head(points: readonly Point[]): string {
  const tip = points.at(-1);
  const last = points.at(-2);
  if (!tip || !last) return "";
  const length = Math.hypot(tip.x - last.x, tip.y - last.y) || 1;
  const [along, across] = [(HEAD * (tip.x - last.x)) / length, (HEAD * (tip.y - last.y)) / length];
  const corner = (side: number) => `${tip.x - along - (side * across) / 2},${tip.y - across + (side * along) / 2}`;
  return `M${corner(1)}L${tip.x},${tip.y}L${corner(-1)}Z`;
}

/** The line nearest to a point, if one is within reach. */
export function lineAt<T extends Drawable>(lines: readonly T[], at: Point, reach: number): T | undefined {
  let nearest: T | undefined;
  let least = reach;
  for (const line of lines) {
    for (let place = 1; place < line.points.length; place += 1) {
      const distance = distanceTo(at, line.points[place - 1]!, line.points[place]!);
      if (distance < least) {
        least = distance;
        nearest = line;
      }
    }
  }
  return nearest;
}

function distanceTo(at: Point, from: Point, to: Point): number {
  const [along, across] = [to.x - from.x, to.y - from.y];
  const length = along * along + across * across;
  const part = length === 0 ? 0 : Math.min(1, Math.max(0, ((at.x - from.x) * along + (at.y - from.y) * across) / length));
  return Math.hypot(at.x - from.x - part * along, at.y - from.y - part * across);
}
