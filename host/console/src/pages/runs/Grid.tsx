/** The grid itself: a column for each run, a row for each task. Arrow keys move in it. */
import { type KeyboardEvent, useLayoutEffect, useRef, useState } from "react";
import { useFormat, useTexts } from "../../i18n";
import { marked } from "../../ui/marks";
import { stateText, toneOf } from "../../ui/page";
import type { Run, RunDetail, RunTask } from "./data";
import { taskKey } from "./data";
import { Glyph } from "./Glyph";
import { TEXTS } from "./texts";

export interface GridRow {
  key: string;
  name: string;
  /** The current definition does not have it any more. */
  isGone?: boolean;
}

const BAR_PX = 56;

export function Grid({ runs, rows, details, run, task, onPress }: {
  runs: readonly (Run & { instanceId: string })[]; rows: readonly GridRow[]; details: readonly (RunDetail | undefined)[];
  /** What is selected: a run, and a task in it. */
  run: string; task: string;
  onPress: (run: string, task: string | null) => void;
}) {
  const texts = useTexts(TEXTS);
  const t = texts.grid;
  const format = useFormat();
  const box = useRef<HTMLDivElement>(null);
  const table = useRef<HTMLTableElement>(null);
  // Row 0 is that of the runs themselves. One cell can be reached by Tab, the others from there.
  const [at, setAt] = useState<[number, number] | null>(null);
  const [row, column] = at ?? [0, runs.length - 1];
  const longest = Math.max(1, ...runs.map((one) => one.durationSeconds ?? 0));
  const lookup = details.map((detail) => new Map<string, RunTask>(detail?.tasks.map((one) => [taskKey(one), one]) ?? []));
  const newest = runs.at(-1)?.instanceId;
  // The newest run is on the right: begin there.
  useLayoutEffect(() => {
    if (box.current) box.current.scrollLeft = box.current.scrollWidth;
  }, [newest]);
  const moved = (event: KeyboardEvent) => {
    const steps: Record<string, [number, number]> = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -runs.length], End: [0, runs.length],
    };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const next: [number, number] = [
      Math.min(Math.max(row + step[0], 0), rows.length), Math.min(Math.max(column + step[1], 0), runs.length - 1),
    ];
    setAt(next);
    table.current?.querySelector<HTMLButtonElement>(`[data-at="${next[0]} ${next[1]}"]`)?.focus();
  };
  const cell = (atRow: number, atColumn: number) => ({
    type: "button" as const, "data-at": `${atRow} ${atColumn}`, onFocus: () => setAt([atRow, atColumn]),
    tabIndex: atRow === row && atColumn === column ? 0 : -1,
  });
  return (
    <div className="tablebox runs-gridbox" ref={box}>
      <table ref={table} className="runs-grid" role="grid" aria-label={t.label} onKeyDown={moved}>
        <thead>
          <tr>
            <th scope="col">{t.task}</th>
            {runs.map((one, place) => {
              const time = one.scheduleTime ?? one.startTime ?? one.createdAt;
              const took = one.durationSeconds;
              const label = [
                time, texts.triggers[one.triggerType as "manual"] ?? one.triggerType, stateText(texts.states, one.status),
                took === null ? "" : format.seconds(took),
              ].filter(Boolean).join(", ");
              return (
                <th key={one.instanceId} scope="col" role="columnheader" className={one.instanceId === run ? "selected" : ""}>
                  <button {...cell(0, place)} className="runs-run" aria-label={label} title={label}
                    aria-pressed={one.instanceId === run && task === ""}
                    onClick={() => onPress(one.instanceId, null)}>
                    <span className="runs-bararea">
                      <span className={`runs-bar ${toneOf(one.status)}`}
                        style={{ blockSize: `${Math.max(4, Math.sqrt((took ?? 0) / longest) * BAR_PX)}px` }} />
                    </span>
                    <Glyph state={one.status} />
                    <span className="runs-day">{time.slice(5, 10)}</span>
                    <span className="runs-hour">{time.slice(11, 16)}</span>
                    <span className="runs-sign">{texts.triggerSigns[one.triggerType as "manual"]}</span>
                  </button>
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {rows.map((one, place) => (
            <tr key={one.key}>
              <th scope="row" className={one.isGone ? "faint" : ""} title={one.isGone ? t.gone : one.name}>{marked(one.name)}</th>
              {runs.map((of, number) => {
                const found = lookup[number]?.get(one.key);
                const isSelected = of.instanceId === run && one.key === task;
                const time = of.scheduleTime ?? of.startTime ?? of.createdAt;
                const state = found?.state ?? null;
                const label = `${one.name}, ${time}, ${state === null ? (details[number] ? t.notInRun : t.loading) : stateText(texts.states, state)}`;
                return (
                  <td key={of.instanceId} className={of.instanceId === run ? "selected" : ""}>
                    <button {...cell(place + 1, number)} className="runs-cell" aria-label={label} title={label} aria-pressed={isSelected}
                      aria-disabled={!found} onClick={() => found && onPress(of.instanceId, one.key)}>
                      <Glyph state={state} />
                    </button>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
