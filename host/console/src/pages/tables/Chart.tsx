/** A small chart of numbers over time, read by eye, pointer, arrow keys and screen readers. */
import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from "react";

export interface Point {
  /** The day or time, as it is shown. */
  at: string;
  value: number;
}

const HEIGHT = 190;
const LEFT = 66;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 26;

/** About four round numbers from zero, or from below the least value where all are far from it. */
function ticks(least: number, most: number): number[] {
  const span = most - least || Math.max(1, Math.abs(most));
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? rough;
  const first = Math.floor(least / step) * step;
  const all: number[] = [];
  for (let value = first; value < most + step; value += step) all.push(value);
  return all;
}

export function Chart({ label, points, kind, format }: {
  label: string; points: readonly Point[]; kind: "line" | "bars"; format: (value: number) => string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  const [at, setAt] = useState<number | null>(null);
  useEffect(() => {
    if (!box.current) return;
    const watch = new ResizeObserver(([entry]) => entry && setWidth(Math.max(220, entry.contentRect.width)));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const values = points.map((point) => point.value);
  const most = Math.max(0, ...values);
  const smallest = values.length === 0 ? 0 : Math.min(...values);
  // Bars begin at zero. A line may begin higher, so that a large table's growth is seen.
  const marks = ticks(kind === "bars" || smallest < most / 2 ? 0 : smallest, most);
  const [low, high] = [marks[0]!, marks.at(-1)!];
  const step = (width - LEFT - RIGHT) / Math.max(1, kind === "bars" ? points.length : points.length - 1);
  const x = (place: number) => LEFT + step * (kind === "bars" ? place + 0.5 : place);
  const y = (value: number) => HEIGHT - BOTTOM - ((value - low) / (high - low || 1)) * (HEIGHT - TOP - BOTTOM);
  const path = points.map((point, place) => `${place === 0 ? "M" : "L"}${x(place).toFixed(1)} ${y(point.value).toFixed(1)}`).join("");
  const clamp = (place: number) => Math.max(0, Math.min(points.length - 1, place));
  const pointed = (event: PointerEvent<SVGSVGElement>) => {
    const offset = event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT;
    setAt(clamp(kind === "bars" ? Math.floor(offset / step) : Math.round(offset / step)));
  };
  const pressed = (event: KeyboardEvent) => {
    const to = { ArrowLeft: (at ?? points.length) - 1, ArrowRight: (at ?? -1) + 1, Home: 0, End: points.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    setAt(clamp(to));
  };
  const chosen = at === null ? undefined : points[at];
  const newest = points.at(-1);
  // As many days as have room, the first and the last among them.
  const every = Math.max(1, Math.ceil(points.length / Math.max(2, Math.floor(width / 110))));
  const last = points.length - 1;
  const isMarked = (place: number) => place === last || (place % every === 0 && last - place >= every);
  const anchor = (place: number) => (kind === "bars" ? "middle" : place === 0 ? "start" : place === last ? "end" : "middle");
  return (
    <div ref={box} className="tables-chart">
      <svg width={width} height={HEIGHT} role="img" tabIndex={0} onPointerMove={pointed} onPointerLeave={() => setAt(null)} onKeyDown={pressed}
        aria-label={newest ? `${label}: ${points[0]!.at} ${format(points[0]!.value)}, ${newest.at} ${format(newest.value)}` : label}>
        {marks.map((value) => (
          <g key={value}>
            <line className="grid" x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} />
            <text x={LEFT - 8} y={y(value) + 4} textAnchor="end">{format(value)}</text>
          </g>
        ))}
        {points.map((point, place) => isMarked(place) && (
          <text key={place} x={x(place)} y={HEIGHT - 8} textAnchor={anchor(place)}>{point.at.slice(5, 10)}</text>
        ))}
        {kind === "line" ? <path className="line" d={path} /> : points.map((point, place) => (
          <rect key={place} className={place === at ? "bar-shape at" : "bar-shape"} x={x(place) - step * 0.36} width={step * 0.72}
            y={y(point.value)} height={Math.max(0, y(low) - y(point.value))} />
        ))}
        {kind === "line" && points.length === 1 && <circle className="point" cx={x(0)} cy={y(points[0]!.value)} r={3.5} />}
        {kind === "line" && at !== null && chosen && <circle className="point" cx={x(at)} cy={y(chosen.value)} r={4} />}
      </svg>
      <p className="small tables-chosen" aria-live="polite">
        {chosen ? <>{chosen.at} · <span className="strong">{format(chosen.value)}</span></>
          : newest && <>{newest.at} · <span className="strong">{format(newest.value)}</span></>}
      </p>
    </div>
  );
}
