/** What an import would do: its tasks and their order, tables that the catalogue has or has not, errors and warnings. */
import type { ReactNode } from "react";
import type { Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Graph } from "../../ui/graph";
import { marked } from "../../ui/marks";
import { Tag } from "../../ui/page";
import { ComparisonView } from "./Comparison";
import { useNames } from "./names";
import { Problems, TableLink } from "./parts";
import { TEXTS } from "./texts";

export function ImportPreview({ preview }: { preview: Schemas["ImportPreview"] }) {
  const t = useTexts(TEXTS);
  const i = t.imports;
  const { tables } = preview;
  const names = useNames(preview.changes ?? undefined);
  return (
    <div className="stack">
      <Problems title={i.errors} problems={preview.errors.map(written)} isBad />
      <Problems title={i.warnings} problems={preview.warnings.map(written)} />
      <h3>{i.tables}</h3>
      <div className="columns">
        <div>
          <p className="workflows-label">{i.matched} <Tag tone="good">{tables.matched.length}</Tag></p>
          <ul className="workflows-tables">
            {tables.matched.map((one) => <li key={one.name}><TableLink id={one.tableId}><code>{marked(one.name)}</code></TableLink></li>)}
          </ul>
        </div>
        <div>
          <p className="workflows-label">
            {i.unmatched} <Tag tone={tables.unmatched.length > 0 ? "warn" : "plain"}>{tables.unmatched.length}</Tag>
          </p>
          {tables.unmatched.length > 0 && <p className="small">{i.unmatchedLead}</p>}
          <ul className="workflows-tables">{tables.unmatched.map((name) => <li key={name}><code>{marked(name)}</code></li>)}</ul>
        </div>
        {tables.ambiguous.length > 0 && (
          <div>
            <p className="workflows-label">{i.ambiguous} <Tag tone="warn">{tables.ambiguous.length}</Tag></p>
            <p className="small">{i.ambiguousLead}</p>
            <ul className="workflows-tables">{tables.ambiguous.map((name) => <li key={name}><code>{marked(name)}</code></li>)}</ul>
          </div>
        )}
      </div>
      {preview.changes
        ? (
          <>
            <h3>{i.changes}</h3>
            <ComparisonView comparison={preview.changes} before={t.versions.version(preview.changes.v1 ?? 0)} after={i.imported} {...names} />
          </>
        )
        : preview.tasks.length > 0 && (
          <>
            <h3>{i.tasks(preview.tasks.length)}</h3>
            <Graph label={t.tasks.graph} height="18rem" edges={preview.edges}
              nodes={preview.tasks.map((one) => ({ id: one.taskName, label: one.taskName, kind: one.taskType, note: one.datasource ?? "" }))} />
          </>
        )}
    </div>
  );
}

function written({ field, message }: Schemas["ImportProblem"]): ReactNode {
  return <>{field && <code>{field}</code>} {message}</>;
}
