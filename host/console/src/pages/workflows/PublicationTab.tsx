/** The publication desk: submit, decide, and what was published before. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, data } from "../../api/client";
import { useMay } from "../../api/me";
import { useTexts } from "../../i18n";
import { Button, TextArea } from "../../ui/controls";
import { useLeaving } from "../../ui/leaving";
import { Empty, Facts, Failure, Loaded, Section, State, Time } from "../../ui/page";
import { DataTable } from "../../ui/table";
import { Decide } from "./Decide";
import { failedDeployment, outdate, type Publication, underReview, usePublicationPreview, type WorkflowDetail } from "./data";
import { Decision } from "./parts";
import { PreviewView } from "./Preview";
import { TEXTS } from "./texts";

export function PublicationTab({ workflow, isPublishing }: {
  workflow: WorkflowDetail;
  /** The page's button led here: to the form, which may lie far below. */
  isPublishing: boolean;
}) {
  const t = useTexts(TEXTS).publication;
  const waiting = underReview(workflow);
  const failed = failedDeployment(workflow);
  const latest = workflow.publications[0];
  return (
    <>
      {waiting ? <Decide workflow={workflow} publication={waiting} />
        : (
          <>
            {failed && <Decide workflow={workflow} publication={failed} isRetry />}
            {latest?.deployment?.state === "pending" && (
              <Section title={t.deploying(latest.version)}><p role="status">{t.deployingLead(workflow.schedulerEngine)}</p></Section>
            )}
            <Submit workflow={workflow} isPublishing={isPublishing} />
          </>
        )}
      <Section title={t.history}>
        <DataTable<Publication> label={t.history} rows={workflow.publications} keyOf={(one) => String(one.recordId)} columns={[
          { header: t.version, accessorFn: (one) => one.version },
          { header: t.decision, accessorFn: (one) => one.status, cell: ({ row }) => <Decision value={row.original.status} /> },
          {
            header: t.submitted, accessorFn: (one) => one.submittedAt,
            cell: ({ row: { original: one } }) => (
              <>{one.submittedBy}, <Time value={one.submittedAt} />{one.comment && <p className="small">{one.comment}</p>}</>
            ),
          },
          {
            header: t.decided, accessorFn: (one) => one.decidedAt ?? "",
            cell: ({ row: { original: one } }) => (one.decidedBy
              ? <>{one.decidedBy}, <Time value={one.decidedAt} />{one.decisionComment && <p className="small">{one.decisionComment}</p>}</>
              : <span className="faint">–</span>),
          },
          {
            header: t.deployment, accessorFn: (one) => one.deployment?.state ?? "",
            cell: ({ row: { original: { deployment } } }) => (deployment
              ? <><State value={deployment.state} />{deployment.error && <p className="small workflows-wrong">{deployment.error}</p>}</>
              : <span className="faint">–</span>),
          },
        ]} empty={<Empty icon="check" title={t.noHistory} />} />
      </Section>
    </>
  );
}

function Submit({ workflow, isPublishing }: { workflow: WorkflowDetail; isPublishing: boolean }) {
  const t = useTexts(TEXTS).publication;
  const may = useMay();
  const client = useQueryClient();
  const [comment, setComment] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const { id } = workflow;
  const preview = usePublicationPreview(workflow, workflow.currentVersion, workflow.tasks.length > 0);
  const leaving = useLeaving(comment.trim() !== "");
  const submit = async () => {
    setBusy(true);
    setError(null);
    try {
      await data(api.POST("/api/v1/workflows/{id}/publish", { params: { path: { id } }, body: { comment: comment.trim() || null } }));
      setComment("");
      await outdate(client);
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  if (workflow.tasks.length === 0) {
    return (
      <Section title={t.submitTitle(workflow.currentVersion)}><Empty icon="workflow" title={t.noTasks}>{t.noTasksLead}</Empty></Section>
    );
  }
  return (
    <Section title={workflow.publishStatus === "published" ? t.upToDate(workflow.currentVersion) : t.submitTitle(workflow.currentVersion)}>
      <Facts facts={[[t.runs, workflow.publishedVersion ?? t.nothing], [t.current, workflow.currentVersion]]} />
      <Loaded query={preview}>
        {(shown) => (
          <>
            <PreviewView preview={shown} before={workflow.publishedVersion} />
            {may("publishWorkflow") && (!shown.identical || shown.firstDeployment || workflow.publishStatus !== "published") && (
              <div className="stack" ref={isPublishing ? focusField : null}>
                <TextArea label={t.comment} value={comment} onChange={setComment} rows={2} hint={t.commentHint} isDisabled={isBusy} />
                <Failure error={error} />
                <div className="actions">
                  <Button kind="primary" isBusy={isBusy} isDisabled={!shown.canPublish} onPress={() => void submit()}>{t.submit}</Button>
                  {!shown.canPublish && <span className="small">{t.cannot}</span>}
                </div>
              </div>
            )}
          </>
        )}
      </Loaded>
      {leaving}
    </Section>
  );
}

/** When the form appears. */
function focusField(form: HTMLElement | null) {
  form?.scrollIntoView({ block: "center" });
  form?.querySelector("textarea")?.focus({ preventScroll: true });
}
