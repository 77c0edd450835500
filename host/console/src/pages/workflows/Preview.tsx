/** What a publication would change, and what stands against it. */
import type { Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { ComparisonView } from "./Comparison";
import { useNames } from "./names";
import { Problems } from "./parts";
import { TEXTS } from "./texts";
import { marked } from "../../ui/marks";

export function PreviewView({ preview, before }: { preview: Schemas["PublicationPreview"]; before: number | null }) {
  const t = useTexts(TEXTS);
  const names = useNames(preview);
  const written = (one: Schemas["PublicationProblem"]) => (
    <>
      {one.taskName !== null && <span className="strong">{marked(one.taskName)}: </span>}
      {one.line !== null && `${t.tasks.at(one.line, one.column ?? 1)} `}{marked(one.message)}
    </>
  );
  return (
    <div className="stack">
      <Problems title={t.publication.errors} problems={preview.errors.map(written)} isBad />
      <Problems title={t.publication.warnings} problems={preview.warnings.map(written)} />
      {preview.firstDeployment && <p>{t.publication.first}</p>}
      <ComparisonView comparison={preview} before={before === null ? t.publication.nothing : t.publication.running(before)}
        after={t.versions.version(preview.v2)} {...names} />
    </div>
  );
}
