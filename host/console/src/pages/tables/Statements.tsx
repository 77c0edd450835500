/** The statements of a plan or of a change, with what undoes them and their outcomes. */
import type { Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Icon } from "../../ui/icons";
import { marked } from "../../ui/marks";
import { Code, Tag, type Tone } from "../../ui/page";
import type { Statement } from "./api";
import { CHANGE_TEXTS } from "./texts-change";

const TONES: Record<Schemas["StatementOutcome"], Tone> = { done: "good", failed: "bad", undone: "warn", not_run: "plain" };

/** `made` has the outcomes, where the change was begun. */
export function Statements({ planned, made }: { planned: readonly Schemas["PlannedStatement"][]; made?: readonly Statement[] }) {
  const t = useTexts(CHANGE_TEXTS);
  const statements: readonly (Schemas["PlannedStatement"] & Partial<Statement>)[] = made && made.length > 0 ? made : planned;
  if (statements.length === 0) return null;
  return (
    <ol className="tables-statements">
      {statements.map((statement, place) => (
        <li key={place}>
          <div className="row">
            <span>{statement.note}</span>
            {statement.destroys && <Tag tone="bad">{t.destroys}</Tag>}
            {statement.outcome && <Tag tone={TONES[statement.outcome]}>{t.outcomes[statement.outcome]}</Tag>}
          </div>
          <Code>{statement.sql}</Code>
          {statement.error && <p className="note failure"><Icon name="warning" />{marked(statement.error)}</p>}
          {statement.undo.length === 0 ? <p className="small">{t.noUndo}</p> : (
            <details>
              <summary className="small">{statement.destroys ? t.undoWithoutData : t.undo}</summary>
              <Code>{statement.undo.join(";\n")}</Code>
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}

export function Notes({ notes }: { notes: readonly Schemas["PlanNote"][] }) {
  if (notes.length === 0) return null;
  return (
    <div className="note">
      <Icon name="warning" />
      <ul className="tables-plain">
        {notes.map((note, place) => <li key={place}><code>{note.member}</code> {note.message}</li>)}
      </ul>
    </div>
  );
}
