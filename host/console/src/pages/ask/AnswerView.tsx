/** An answer: its text, its results, and what may be asked next. */
import { useMemo, useState } from "react";
import { useTexts } from "../../i18n";
import { Icon } from "../../ui/icons";
import { Tabs } from "../../ui/controls";
import { marked } from "../../ui/marks";
import { Code } from "../../ui/page";
import { Chart } from "./Chart";
import { CopyButton } from "../../ui/copy";
import { Prose } from "./Prose";
import { Rating } from "./Rating";
import { ResultTable } from "./ResultTable";
import { isOneValue, type Result, resultsOf } from "./results";
import { Statement, useStatement } from "./Statement";
import { TEXTS } from "./texts";
import type { Answer } from "./topics";

export function AnswerView({ topicId, taskId, answer, name, onAsk }: {
  topicId: string; taskId: string; answer: Answer;
  /** What it answers: names its files and pictures. */
  name: string;
  /** Sends a question; absent while that cannot be done. */
  onAsk?: (content: string) => void;
}) {
  const t = useTexts(TEXTS);
  const results = useMemo(() => resultsOf(answer.artifacts), [answer.artifacts]);
  const proposed = answer.outcome === "needs_clarification"
    ? answer.candidates
    : answer.suggestions.map((content) => ({ label: content, content }));
  return (
    <div className="ask-answer">
      <Prose text={withoutProposed(answer.content, proposed.map((one) => one.label))} />
      {proposed.length > 0 && (
        <div className="ask-chips" role="group" aria-label={answer.outcome === "needs_clarification" ? t.whichOne : t.instead}>
          {proposed.map(({ label, content }) => (
            <button key={content} type="button" className="ask-chip" disabled={!onAsk} onClick={() => onAsk?.(content)}>
              <Icon name="right" />{marked(label)}
            </button>
          ))}
        </div>
      )}
      {results.map((result, place) => (
        <ResultView key={place} result={result} taskId={taskId} name={results.length > 1 ? `${name} ${place + 1}` : name} />
      ))}
      <div className="ask-answer-foot">
        <CopyButton text={answer.content} label={t.copyAnswer} />
        <Rating topicId={topicId} answer={answer} />
      </div>
    </div>
  );
}

/** The lines that list what the buttons below offer are left out. */
function withoutProposed(content: string, labels: readonly string[]): string {
  const said = new Set(labels.map((label) => label.trim()));
  return content
    .split("\n")
    .filter((line) => !said.has(line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, "").trim()) || !/^\s*(?:[-*•]|\d+[.)])\s/.test(line))
    .join("\n")
    .trimEnd();
}

type TabName = "chart" | "table" | "sql";

function ResultView({ result, taskId, name }: { result: Result; taskId: string; name: string }) {
  const t = useTexts(TEXTS);
  const state = useStatement(result);
  const { statement, table, spec, others } = result;
  const tabs: { id: TabName; title: string; content: React.ReactNode }[] = [
    ...(spec ? [{ id: "chart" as const, title: t.chart, content: <Chart spec={spec} table={table} name={name} /> }] : []),
    ...(table ? [{
      id: "table" as const,
      title: isOneValue(table) ? t.result : t.table,
      content: <ResultTable table={table} name={name} source={{ taskId, result }} />,
    }] : []),
    ...(statement ? [{ id: "sql" as const, title: t.sql, content: <Statement taskId={taskId} result={result} name={name} state={state} /> }] : []),
  ];
  const [chosen, setChosen] = useState<TabName | null>(null);
  return (
    <section className="ask-result" aria-label={name}>
      {tabs.length > 0 && <Tabs label={t.shownAs} value={chosen ?? tabs[0]!.id} onChange={setChosen} tabs={tabs} />}
      {others.map((artifact, place) => (
        <details key={place} className="ask-rest">
          <summary className="small">{artifact.kind}</summary>
          <Code>{JSON.stringify(artifact, null, 2)}</Code>
        </details>
      ))}
    </section>
  );
}
