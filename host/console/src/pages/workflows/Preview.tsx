/** What a publication would change, and what stands against it. */
import type { Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Icon } from "../../ui/icons";
import { ComparisonView } from "./Comparison";
import { useNames } from "./names";
import { WorkflowLink } from "./parts";
import { TEXTS } from "./texts";

export function PreviewView({ preview, before, workflowId }: {
  preview: Schemas["PublicationPreview"]; before: number | null;
  /** Given outside of the workflow's own page: problems lead to it. */
  workflowId?: number;
}) {
  const t = useTexts(TEXTS);
  const names = useNames(preview);
  return (
    <div className="stack">
      <Problems title={t.publication.errors} problems={preview.errors} isBad {...(workflowId === undefined ? {} : { workflowId })} />
      <Problems title={t.publication.warnings} problems={preview.warnings} {...(workflowId === undefined ? {} : { workflowId })} />
      {preview.firstDeployment && <p>{t.publication.first}</p>}
      <ComparisonView comparison={preview} before={before === null ? t.publication.nothing : t.publication.running(before)}
        after={t.versions.version(preview.v2)} {...names} />
    </div>
  );
}

function Problems({ title, problems, isBad, workflowId }: {
  title: string; problems: readonly Schemas["PublicationProblem"][]; isBad?: boolean; workflowId?: number;
}) {
  const t = useTexts(TEXTS).tasks;
  if (problems.length === 0) return null;
  return (
    <div className={isBad ? "note failure" : "note"}>
      <Icon name="warning" />
      <div>
        <p className="strong">{title}</p>
        <ul>
          {problems.map((one, place) => (
            <li key={place}>
              {one.taskName !== null && (
                <span className="strong">
                  {workflowId === undefined ? one.taskName : <WorkflowLink id={workflowId}>{one.taskName}</WorkflowLink>}: 
                </span>
              )}
              {one.line !== null && `${t.at(one.line, one.column ?? 1)} `}{one.message}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
