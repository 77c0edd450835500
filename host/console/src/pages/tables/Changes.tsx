/** The physical changes of a table, the newest first. */
import { useQuery } from "@tanstack/react-query";
import { useTexts } from "../../i18n";
import { Icon } from "../../ui/icons";
import { marked } from "../../ui/marks";
import { Empty, Loaded, Progress, State, Tag, Time } from "../../ui/page";
import { changesQuery, type TableChange } from "./api";
import { Notes, Statements } from "./Statements";
import { TABLE_TEXTS } from "./texts-table";

export function Changes({ id }: { id: number }) {
  const t = useTexts(TABLE_TEXTS);
  const query = useQuery(changesQuery(id));
  return (
    <Loaded query={query}>
      {(changes) => (changes.length === 0 ? <Empty icon="database" title={t.noChanges}>{t.noChangesLead}</Empty> : (
        <ul className="tables-plain stack">
          {changes.map((change) => <li key={change.id}><Change change={change} /></li>)}
        </ul>
      ))}
    </Loaded>
  );
}

function Change({ change }: { change: TableChange }) {
  const t = useTexts(TABLE_TEXTS);
  const kinds: Record<string, string> = t.changeKinds;
  // What a statement is for names the field or the table.
  const [first] = change.statements;
  const others = change.statements.length - 1;
  const done = change.statements.filter((statement) => statement.outcome === "done").length;
  return (
    <details className="section tables-change" open={change.state !== "success"}>
      <summary className="row">
        <Icon name="right" />
        <span className="strong">{kinds[change.kind] ?? change.kind}</span>
        {first && <span>{marked(first.note)}{others > 0 && <span className="faint"> +{others}</span>}</span>}
        <State value={change.state} />
        <Time value={change.startedAt} />
        <span className="faint">{change.requestedBy}</span>
        {change.drift.length > 0 && <Tag tone="warn">{t.driftCount(change.drift.length)}</Tag>}
      </summary>
      {change.state === "running" && <Progress label={t.changeRuns} value={done} of={change.statements.length} />}
      {change.error && <p className="note failure"><Icon name="warning" />{marked(change.error.message)} <code>{change.error.code}</code></p>}
      <Statements planned={[]} made={change.statements} />
      {change.statements.length === 0 && <p className="small">{t.noStatements}</p>}
      <Notes notes={change.notes} />
    </details>
  );
}
