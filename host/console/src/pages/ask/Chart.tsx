/** A chart of a result. */
import { useEffect, useMemo, useRef, useState } from "react";
import { useLanguage, useTexts } from "../../i18n";
import { useTheme } from "../../shell/theme";
import { Button } from "../../ui/controls";
import { Loading } from "../../ui/page";
import { saveFile } from "../../ui/save";
import type { Drawing } from "./chart-draw";
import { TooMuch } from "./chart-parts";
import { drawn, type Spec } from "./chart-spec";
import { ResultTable } from "./ResultTable";
import { fileName, type Table } from "./results";
import { TEXTS } from "./texts";

/** Vega says a whole specification. */
const REASON_MAX = 200;

export function Chart({ spec, table, isOther = false, name }: {
  spec: Spec; table: Table | null;
  /** The table is not the one that the specification was made for. */
  isOther?: boolean;
  /** What it shows. */
  name: string;
}) {
  const t = useTexts(TEXTS);
  const { theme } = useTheme();
  const { language } = useLanguage();
  const box = useRef<HTMLDivElement>(null);
  const [drawing, setDrawing] = useState<Drawing | null>(null);
  const [error, setError] = useState<string | null>(null);
  const shown = useMemo(() => {
    try {
      return drawn(spec, table, isOther);
    } catch (reason) {
      if (reason instanceof TooMuch) return reason;
      throw reason;
    }
  }, [spec, table, isOther]);
  const why = shown instanceof TooMuch ? t.tooMuch[shown.why] : error;
  useEffect(() => {
    const element = box.current;
    if (!element || shown instanceof TooMuch) return undefined;
    let isGone = false;
    let made: Drawing | null = null;
    setError(null);
    void (async () => {
      try {
        const { draw } = await import("./chart-draw");
        // While it loaded, the page may have gone, and the theme reaches the page's root after this effect.
        if (isGone) return;
        made = await draw(element, structuredClone(shown), language);
        if (isGone) made.remove();
        else setDrawing(made);
      } catch (reason) {
        if (!isGone) setError((reason instanceof Error ? reason.message : String(reason)).slice(0, REASON_MAX));
      }
    })();
    return () => {
      isGone = true;
      setDrawing(null);
      made?.remove();
    };
  }, [shown, theme, language]);
  const save = async () => {
    if (drawing) saveFile(fileName(name, "svg"), new Blob([await drawing.svg()], { type: "image/svg+xml" }));
  };
  return (
    <figure className="ask-chart" aria-label={t.chartOf(name)}>
      {why !== null && <p className="note">{t.noChart(why)}</p>}
      {why !== null && table && <ResultTable table={table} name={name} />}
      {!drawing && why === null && <Loading lines={5} />}
      <div ref={box} className="ask-chart-box" />
      {drawing && (
        <div className="ask-result-foot"><Button kind="quiet" icon="download" onPress={() => void save()}>{t.saveChart}</Button></div>
      )}
    </figure>
  );
}
