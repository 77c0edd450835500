/** A publication that waits for a decision, or whose deployment failed: what it changes, and approve or reject. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api, data, Failed, type Schemas } from "../../api/client";
import { useMay, useMe } from "../../api/me";
import { useTexts } from "../../i18n";
import { Button, TextArea } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { Facts, Failure, Loaded, Section, Time } from "../../ui/page";
import { ComparisonView } from "./Comparison";
import { type Comparison, outdate, type Publication, type WorkflowDetail } from "./data";
import { useNames } from "./names";
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
  const decide = async (status: "APPROVED" | "REJECTED") => {
    setBusy(status);
    setError(null);
    try {
      await data(api.POST("/api/v1/workflows/{id}/publish/{recordId}/approve", {
        params: { path: { id: workflow.id, recordId: publication.recordId } }, body: { status, comment: comment.trim() || null },
      }));
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
      <WhatChanges workflow={workflow} publication={publication} />
      {may("decidePublication") ? (
        <>
          {isOwn && <div className="note"><Icon name="key" /><p>{t.ownLead}</p></div>}
          <TextArea label={t.decisionComment} value={comment} onChange={setComment} rows={2} />
          {error instanceof Failed && error.code === "four_eyes"
            ? (
              <div className="note failure" role="alert">
                <Icon name="key" />
                <div><p className="strong">{t.fourEyes}</p><p>{error.message}</p><p>{t.fourEyesLead}</p></div>
              </div>
            )
            : <Failure error={error} />}
          <div className="actions">
            <Button kind="primary" icon="check" isBusy={busy === "APPROVED"} onPress={() => void decide("APPROVED")}>
              {isRetry ? t.approveAgain : t.approve}
            </Button>
            {!isRetry && (
              <Button kind="danger" icon="close" isBusy={busy === "REJECTED"} onPress={() => void decide("REJECTED")}>
                {t.reject}
              </Button>
            )}
          </div>
        </>
      ) : <p className="small">{t.needsApprover}</p>}
    </Section>
  );
}

/** The submitted version against what runs; with warnings and errors where it is still the current one. */
function WhatChanges({ workflow, publication }: { workflow: WorkflowDetail; publication: Publication }) {
  const t = useTexts(TEXTS);
  const { id, publishedVersion } = workflow;
  const isCurrent = publication.version === workflow.currentVersion || publishedVersion === null;
  const preview = useQuery({
    queryKey: ["workflows", id, "publish-preview", workflow.currentVersion, publishedVersion],
    queryFn: () => data<Schemas["PublicationPreview"]>(api.GET("/api/v1/workflows/{id}/publish/preview", { params: { path: { id } } })),
    enabled: isCurrent,
  });
  const compared = useQuery({
    queryKey: ["workflows", id, "compare", publishedVersion, publication.version],
    queryFn: () => data<Comparison>(api.POST("/api/v1/workflows/{id}/versions/compare", {
      params: { path: { id } }, body: { v1: publishedVersion!, v2: publication.version },
    })),
    enabled: !isCurrent,
  });
  const names = useNames(compared.data);
  return isCurrent
    ? <Loaded query={preview}>{(shown) => <PreviewView preview={shown} before={publishedVersion} />}</Loaded>
    : (
      <Loaded query={compared}>
        {(comparison) => <ComparisonView comparison={comparison} before={t.publication.running(publishedVersion!)} after={t.versions.version(publication.version)} {...names} />}
      </Loaded>
    );
}
