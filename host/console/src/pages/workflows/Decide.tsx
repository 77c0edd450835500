/** A publication that waits for a decision, or whose deployment failed: what it changes, and approve or reject. */
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api, data, Failed } from "../../api/client";
import { useMay, useMe } from "../../api/me";
import { useTexts } from "../../i18n";
import { Button, TextArea } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { useLeaving } from "../../ui/leaving";
import { Facts, Failure, Loaded, Section, Time } from "../../ui/page";
import { outdate, type Publication, usePublicationPreview, type WorkflowDetail } from "./data";
import { PreviewView } from "./Preview";
import { TEXTS } from "./texts";

export function Decide({ workflow, publication, isRetry, title }: {
  workflow: WorkflowDetail; publication: Publication;
  /** It was approved; the deployment failed and can be tried again. */
  isRetry?: boolean; title?: ReactNode;
}) {
  const t = useTexts(TEXTS).publication;
  const may = useMay();
  const me = useMe();
  const client = useQueryClient();
  const [comment, setComment] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState<"APPROVED" | "REJECTED" | null>(null);
  // What is approved is the version that was submitted, also where another one is current by now.
  const preview = usePublicationPreview(workflow, publication.version);
  // On the page of approvals another workflow takes its place.
  const leaving = useLeaving(comment.trim() !== "", ["tab", "workflow"]);
  const decide = async (status: "APPROVED" | "REJECTED") => {
    if (busy !== null) return;
    setBusy(status);
    setError(null);
    try {
      await data(api.POST("/api/v1/workflows/{id}/publish/{recordId}/approve", {
        params: { path: { id: workflow.id, recordId: publication.recordId } }, body: { status, comment: comment.trim() || null },
      }));
      setComment("");
      await outdate(client);
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(null);
    }
  };
  const isOwn = me.kind !== "local" && publication.submittedBy === me.name;
  return (
    <Section title={title ?? (isRetry ? t.retryTitle(publication.version) : t.reviewTitle(publication.version))}>
      <Facts facts={[
        [t.submitted, <span key="s">{publication.submittedBy}, <Time value={publication.submittedAt} /></span>],
        [t.comment, publication.comment],
        [t.runs, workflow.publishedVersion ?? t.nothing],
        [t.wouldRun, publication.version],
      ]} />
      {isRetry && (
        <div className="note failure">
          <Icon name="warning" /><div><p>{t.retryLead}</p>{publication.deployment?.error && <p>{publication.deployment.error}</p>}</div>
        </div>
      )}
      {publication.version !== workflow.currentVersion && (
        <div className="note"><Icon name="warning" /><p>{t.olderVersion(publication.version, workflow.currentVersion)}</p></div>
      )}
      <Loaded query={preview}>{(shown) => <PreviewView preview={shown} before={workflow.publishedVersion} />}</Loaded>
      {may("decidePublication") ? (
        <>
          {isOwn && <div className="note"><Icon name="key" /><p>{t.ownLead}</p></div>}
          <TextArea label={t.decisionComment} value={comment} onChange={setComment} rows={2} isDisabled={busy !== null} />
          {error instanceof Failed && error.code === "four_eyes"
            ? (
              <div className="note failure" role="alert">
                <Icon name="key" />
                <div><p className="strong">{t.fourEyes}</p><p>{error.message}</p><p>{t.fourEyesLead}</p></div>
              </div>
            )
            : <Failure error={error} />}
          <div className="actions">
            <Button kind="primary" icon="check" isBusy={busy === "APPROVED"} isDisabled={busy === "REJECTED"}
              onPress={() => void decide("APPROVED")}>
              {isRetry ? t.approveAgain : t.approve}
            </Button>
            {!isRetry && (
              <Button kind="danger" icon="close" isBusy={busy === "REJECTED"} isDisabled={busy === "APPROVED"}
                onPress={() => void decide("REJECTED")}>
                {t.reject}
              </Button>
            )}
          </div>
        </>
      ) : <p className="small">{t.needsApprover}</p>}
      {leaving}
    </Section>
  );
}
