/**
 * Vega, which loads when the first chart is shown. The server's policy forbids `eval` and elements of style: expressions
 * are interpreted, and the note beside the pointer is an element of this page.
 */
import embed, { type VisualizationSpec } from "vega-embed";
import { expressionInterpreter } from "vega-interpreter";
import type { Language } from "../../i18n";
import { INERT } from "./chart-paint";
import { type Spec, valuesOf } from "./chart-spec";
import { isObject } from "./results";

export interface Drawing {
  svg: () => Promise<string>;
  remove: () => void;
}

const refused = () => Promise.reject(new Error("A chart loads nothing."));
const LOADER = { load: refused, sanitize: refused, http: refused, file: refused };

/** The width of a letter, about. */
const LETTER_PX = 6.5;

/** Draws into an element, as wide as it is. */
export async function draw(element: HTMLElement, spec: Spec, language: Language): Promise<Drawing> {
  const part = (name: string) => {
    const made = document.createElement("div");
    made.className = `ask-chart-${name}`;
    return made;
  };
  const [frame, place, note] = [part("frame"), part("place"), part("note")];
  note.hidden = true;
  frame.append(place, note);
  element.append(frame);
  const { view, finalize } = await embed(place, spec as unknown as VisualizationSpec, {
    mode: "vega-lite",
    renderer: INERT as "svg",
    ast: true,
    expr: expressionInterpreter,
    actions: false,
    defaultStyle: false,
    loader: LOADER,
    tooltip: (_, event, __, value) => showNote(note, event, value),
    config: looks(frame, namesFit(spec, place.clientWidth)) as never,
    logLevel: 1,
    ...(language === "zh" ? { timeFormatLocale: CHINESE } : {}),
  }).catch((reason: unknown) => {
    frame.remove();
    throw reason;
  });
  // Vega looks only when the window changes, but the page's parts fold too.
  let width = place.clientWidth;
  const observer = new ResizeObserver(() => {
    if (place.clientWidth === width || place.clientWidth === 0) return;
    width = place.clientWidth;
    if (spec.width === "container") void view.width(width).runAsync();
  });
  observer.observe(frame);
  return {
    svg: () => view.toSVG(),
    remove: () => {
      observer.disconnect();
      finalize();
      frame.remove();
    },
  };
}

/** Whether the names along the horizontal axis have room side by side. */
function namesFit(spec: Spec, width: number): boolean {
  const x = isObject(spec.encoding) && isObject(spec.encoding.x) ? spec.encoding.x : null;
  if (!x || typeof x.field !== "string") return true;
  const names = new Set(valuesOf(spec, x.field).map(String));
  const longest = Math.max(...[...names].map((name) => name.length + (name.match(/[^\u0000-\u2fff]/g)?.length ?? 0)), 0);
  return names.size * (longest * LETTER_PX + 10) < width - 70;
}

/** What a mark stands for: names and values, or a text. All of it is shown as text. */
function showNote(note: HTMLElement, event: MouseEvent, value: unknown): void {
  if (value === null || value === undefined || value === "") {
    note.hidden = true;
    return;
  }
  const lines = typeof value === "object" && !Array.isArray(value) ? Object.entries(value) : [["", String(value)] as const];
  note.replaceChildren(...lines.map(([name, text]) => {
    const line = document.createElement("div");
    if (name) {
      const label = document.createElement("span");
      label.textContent = name;
      line.append(label);
    }
    const said = document.createElement("strong");
    said.textContent = typeof text === "object" ? JSON.stringify(text) : String(text);
    line.append(said);
    return line;
  }));
  note.hidden = false;
  const { width, height } = note.getBoundingClientRect();
  const left = event.clientX + 14 + width > window.innerWidth ? event.clientX - 14 - width : event.clientX + 14;
  note.style.left = `${Math.max(4, left)}px`;
  note.style.top = `${Math.min(event.clientY + 14, window.innerHeight - height - 4)}px`;
}

/** The page's colours. A token is one of two colours: only an element's own colour says which. */
function looks(element: HTMLElement, isNamesFit: boolean) {
  const probe = document.createElement("span");
  element.append(probe);
  const colour = (value: string) => {
    probe.style.color = value;
    return getComputedStyle(probe).color;
  };
  const token = (name: string) => colour(`var(--${name})`);
  const mix = (one: string, other: string) => colour(`color-mix(in srgb, var(--${one}), var(--${other}))`);
  const [text, soft, line, accent, surface] = ["text", "soft", "line", "accent", "surface"].map(token) as [string, string, string, string, string];
  const category = [
    accent, token("warn"), token("busy"), token("bad"), token("good"), token("soft"), mix("accent", "busy"), mix("bad", "warn"),
    mix("good", "warn"), mix("bad", "busy"), mix("accent", "text"), mix("warn", "soft"),
  ];
  probe.remove();
  return {
    background: "transparent",
    tooltipFormat: { numberFormat: ",.4~f" },
    font: getComputedStyle(element).fontFamily,
    view: { stroke: null },
    axis: {
      domainColor: line, tickColor: line, gridColor: line, labelColor: soft, titleColor: soft, labelFontSize: 12, titleFontSize: 12,
      titleFontWeight: 500, labelLimit: 140, titlePadding: 10, labelPadding: 6,
    },
    axisX: { grid: false },
    axisXDiscrete: isNamesFit ? { labelAngle: 0 } : { labelAngle: -38, labelAlign: "right", labelBaseline: "middle" },
    axisXTemporal: { labelAngle: 0, labelOverlap: "greedy", labelSeparation: 8 },
    axisY: { domain: false, ticks: false },
    legend: { labelColor: text, titleColor: soft, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500, orient: "top" },
    header: { labelColor: text, titleColor: soft },
    title: { color: text, fontSize: 13 },
    text: { color: text },
    mark: { color: accent },
    bar: { cornerRadiusEnd: 3 },
    line: { strokeWidth: 2.5 },
    area: { fillOpacity: 0.4 },
    point: { filled: true, size: 36 },
    arc: { stroke: surface },
    rule: { color: soft },
    range: { category },
  };
}

const MONTHS = ["一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二"].map((month) => `${month}月`);
const DAYS = ["日", "一", "二", "三", "四", "五", "六"];

const CHINESE = {
  dateTime: "%x %A %X", date: "%Y年%-m月%-d日", time: "%H:%M:%S", periods: ["上午", "下午"],
  days: DAYS.map((day) => `星期${day}`), shortDays: DAYS.map((day) => `周${day}`), months: MONTHS, shortMonths: MONTHS,
};
