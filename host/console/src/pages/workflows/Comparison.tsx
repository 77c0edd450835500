/** What differs between two versions: side by side, or as the text of a diff. */
import { useState } from "react";
import { useTexts } from "../../i18n";
import { Button } from "../../ui/controls";
import { marked } from "../../ui/marks";
import { Code, Empty, Tag } from "../../ui/page";
import type { Schemas } from "../../api/client";
import type { Comparison } from "./data";
import { sideBySide } from "./lines";
import { TEXTS } from "./texts";

type Change = Schemas["FieldChange"];

export function ComparisonView({ comparison, before, after, tableNames, sourceNames }: {
  comparison: Comparison; before: string; after: string;
  /** Names of tables and data sources by id, where they are known. */
  tableNames?: ReadonlyMap<number, string>; sourceNames?: ReadonlyMap<number, string>;
}) {
  const texts = useTexts(TEXTS);
  const t = texts.comparison;
  const [isText, setText] = useState(false);
  if (comparison.identical) return <Empty icon="check" title={t.identical} />;
  const { tasks, edges } = comparison;
  const names = new Map([...tasks.added, ...tasks.removed, ...tasks.modified].map((one) => [one.taskId, one.taskName]));
  const nameOf = (id: number) => names.get(id) ?? `#${id}`;
  // Values that have names elsewhere on the page have them here, too.
  const values: Record<string, Record<string, string>> = {
    failureStrategy: texts.strategies, warningType: texts.schedules.warnings, priority: texts.tasks.priorities,
    concurrency: texts.settings.concurrencies,
  };
  const show = (field: string, value: unknown) => (Object.hasOwn(values, field) && values[field]?.[String(value)]) || shown(field, value, tableNames, sourceNames);
  const heads = { before, after };
  return (
    <div className="stack">
      <div className="row">
        {tasks.added.length > 0 && <Tag tone="good">{t.added(tasks.added.length)}</Tag>}
        {tasks.removed.length > 0 && <Tag tone="bad">{t.removed(tasks.removed.length)}</Tag>}
        {tasks.modified.length > 0 && <Tag tone="warn">{t.modified(tasks.modified.length)}</Tag>}
        <span className="workflows-grow" />
        <Button kind={isText ? "quiet" : "plain"} aria-pressed={!isText} onPress={() => setText(false)}>{t.sideBySide}</Button>
        <Button kind={isText ? "plain" : "quiet"} aria-pressed={isText} onPress={() => setText(true)}>{t.asText}</Button>
      </div>
      {isText ? <Diff text={comparison.unifiedDiff} /> : (
        <>
          <Changes title={t.workflow} changes={comparison.workflow} heads={heads} show={show} />
          <Changes title={t.schedule} changes={comparison.schedule} heads={heads} show={show} />
          {tasks.modified.map((one) => (
            <Changes key={one.taskId} title={t.task(one.taskName)} tone="warn" changes={one.changes} heads={heads} show={show} />
          ))}
          {tasks.added.map((one) => (
            <Changes key={one.taskId} title={t.addedTask(one.taskName)} tone="good" changes={wholeTask(one, "after")}
              heads={heads} show={show} />
          ))}
          {tasks.removed.map((one) => (
            <Changes key={one.taskId} title={t.removedTask(one.taskName)} tone="bad" changes={wholeTask(one, "before")}
              heads={heads} show={show} />
          ))}
          {edges.added.length + edges.removed.length > 0 && (
            <div className="workflows-change">
              <h3>{t.order}</h3>
              <ul>
                {edges.removed.map((one) => (
                  <li key={`- ${one.source} ${one.target}`}>
                    <Tag tone="bad">−</Tag> <bdi>{marked(nameOf(one.source))}</bdi> → <bdi>{marked(nameOf(one.target))}</bdi>
                  </li>
                ))}
                {edges.added.map((one) => (
                  <li key={`+ ${one.source} ${one.target}`}>
                    <Tag tone="good">+</Tag> <bdi>{marked(nameOf(one.source))}</bdi> → <bdi>{marked(nameOf(one.target))}</bdi>
                  </li>
                ))}
              </ul>
            </div>
          )}
        </>
      )}
    </div>
  );
}

function wholeTask(task: Schemas["ComparedTask"], side: "before" | "after"): Change[] {
  const { taskId: _, taskName: __, ...members } = task;
  return Object.entries(members).map(([field, value]) => ({ field, before: null, after: null, [side]: value }) as Change);
}

function Changes({ title, changes, heads, show, tone }: {
  title: string; changes: readonly Change[]; heads: { before: string; after: string };
  show: (field: string, value: unknown) => string; tone?: "good" | "bad" | "warn";
}) {
  const t = useTexts(TEXTS).comparison;
  if (changes.length === 0) return null;
  const fields: Record<string, string> = t.fields;
  return (
    <div className={`workflows-change ${tone ?? ""}`}>
      <h3>{marked(title)}</h3>
      <div className="tablebox" tabIndex={0} role="region" aria-label={title}>
        <table className="workflows-sides">
          <thead><tr><th scope="col">{t.member}</th><th scope="col">{heads.before}</th><th scope="col">{heads.after}</th></tr></thead>
          <tbody>
            {changes.map((change) => {
              const before = show(change.field, change.before);
              const after = show(change.field, change.after);
              if (before === "" && after === "") return null;
              const isText = before.includes("\n") || after.includes("\n") || change.field === "sqlContent";
              return (
                <tr key={change.field}>
                  <th scope="row">{marked(fields[change.field] ?? change.field)}</th>
                  {isText ? <td colSpan={2} className="workflows-linescell"><Lines before={before} after={after} /></td> : (
                    <>
                      <td className={before === "" ? "" : "workflows-old"}>{marked(before) || <span className="faint">–</span>}</td>
                      <td className={after === "" ? "" : "workflows-new"}>{marked(after) || <span className="faint">–</span>}</td>
                    </>
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </div>
  );
}

/** Two texts line by line; lines that belong together stand side by side. */
function Lines({ before, after }: { before: string; after: string }) {
  return (
    <table className="workflows-lines">
      <tbody>
        {sideBySide(before, after).map((row, place) => (
          <tr key={place}>
            <td className={row.isSame ? "" : row.left === null ? "workflows-void" : "workflows-old"}><code>{marked(row.left)}</code></td>
            <td className={row.isSame ? "" : row.right === null ? "workflows-void" : "workflows-new"}><code>{marked(row.right)}</code></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Diff({ text }: { text: string }) {
  if (text === "") return <Code>{""}</Code>;
  return (
    <pre className="code tall" tabIndex={0}>
      {text.split("\n").map((line, place) => (
        <span key={place}
          className={line.startsWith("+") ? "workflows-new" : line.startsWith("-") ? "workflows-old" : line.startsWith("@@") ? "faint" : ""}>
          {marked(line)}{"\n"}
        </span>
      ))}
    </pre>
  );
}

/** A member's value as text. */
function shown(field: string, value: unknown, tables?: ReadonlyMap<number, string>, sources?: ReadonlyMap<number, string>): string {
  if (value === null || value === undefined) return "";
  if (field === "datasourceId") return sources?.get(Number(value)) ?? `#${String(value)}`;
  if (field.endsWith("TableIds") && Array.isArray(value)) return value.map((id) => tables?.get(Number(id)) ?? `#${String(id)}`).join(", ");
  if (field === "globalParams" && Array.isArray(value)) {
    return (value as Schemas["GlobalParam"][]).map((one) => `${one.name} = ${one.value}`).join("\n");
  }
  return typeof value === "object" ? JSON.stringify(value, null, 1) : String(value);
}
