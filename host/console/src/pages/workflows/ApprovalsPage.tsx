/** What waits for a decision, over all workflows. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { api, data, type Schemas } from "../../api/client";
import { useMay } from "../../api/me";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button } from "../../ui/controls";
import { Empty, Failure, Loaded, Loading, Page, State, Time } from "../../ui/page";
import { DataTable } from "../../ui/table";
import { Decide } from "./Decide";
import { BUSY_MS, failedDeployment, type Publication, underReview, type WorkflowDetail } from "./data";
import { WorkflowLink } from "./parts";
import { TEXTS } from "./texts";
import "./style.css";

interface Waiting {
  workflow: WorkflowDetail;
  publication: Publication;
  isRetry: boolean;
}

/** At most so many pages of each kind are read. */
const PAGE_SIZE = 100;
const PAGES_MAX = 5;

/** The workflows whose publication waits, or failed, and how many there are. */
async function withPublication(publishStatus: "pending" | "failed") {
  const records: Schemas["Workflow"][] = [];
  for (let pageNum = 1; ; pageNum += 1) {
    const query = { publishStatus, pageNum, pageSize: PAGE_SIZE };
    const page = await data<Schemas["PageOfWorkflow"]>(api.GET("/api/v1/workflows", { params: { query } }));
    records.push(...page.records);
    if (page.records.length < PAGE_SIZE || pageNum === PAGES_MAX) return { records, total: page.total };
  }
}

export default function ApprovalsPage() {
  const t = useTexts(TEXTS);
  const a = t.approvals;
  const may = useMay();
  const format = useFormat();
  const { text, set } = useAddress();
  // The list says which workflows wait; each of them says for what.
  const list = useQuery({
    queryKey: ["workflows", "with-publication"],
    queryFn: () => Promise.all([withPublication("pending"), withPublication("failed")]),
    refetchInterval: 15_000,
  });
  const lists = list.data ?? [];
  // Each once, also if it moves from one page or list to another while they are read.
  const wanted = [...new Map(lists.flatMap((one) => one.records).map((one) => [one.id, one])).values()];
  const total = lists.reduce((sum, one) => sum + one.total, 0);
  const isCut = lists.some((one) => one.total > one.records.length);
  const details = useQueries({
    queries: wanted.map(({ id, publishStatus }) => ({
      queryKey: ["workflows", id],
      queryFn: () => data<WorkflowDetail>(api.GET("/api/v1/workflows/{id}", { params: { path: { id } } })),
      refetchInterval: publishStatus === "pending" ? BUSY_MS * 5 : false as const,
    })),
  });
  const waiting = details.flatMap(({ data: workflow }): Waiting[] => {
    if (!workflow) return [];
    const publication = underReview(workflow);
    const failed = failedDeployment(workflow);
    return publication ? [{ workflow, publication, isRetry: false }] : failed ? [{ workflow, publication: failed, isRetry: true }] : [];
  }).sort((one, other) => one.publication.submittedAt.localeCompare(other.publication.submittedAt));
  const opened = waiting.find((one) => String(one.workflow.id) === text("workflow"));
  const error = details.find((one) => one.error)?.error;
  return (
    <Page title={a.title} lead={may("decidePublication") ? a.lead : a.leadReader}>
      <Loaded query={list}>
        {() => (
          <>
            <Failure error={error} />
            {isCut && <p className="small">{a.cut(format.number(wanted.length), format.number(total))}</p>}
            {details.some((one) => one.isPending) ? <Loading /> : (
              <DataTable<Waiting> label={a.title} rows={waiting} keyOf={(one) => String(one.publication.recordId)}
                empty={<Empty icon="check" title={a.none}>{a.noneLead}</Empty>} columns={[
                {
                  header: t.workflow, accessorFn: (one) => one.workflow.name,
                  cell: ({ row: { original: one } }) => <WorkflowLink id={one.workflow.id} tab="publication">{one.workflow.name}</WorkflowLink>,
                },
                { header: t.publication.version, accessorFn: (one) => one.publication.version },
                { header: t.publication.comment, accessorFn: (one) => one.publication.comment ?? "" },
                {
                  header: t.publication.submitted, accessorFn: (one) => one.publication.submittedAt,
                  cell: ({ row: { original: { publication } } }) => <>{publication.submittedBy}, <Time value={publication.submittedAt} /></>,
                },
                {
                  header: t.status, accessorFn: (one) => String(one.isRetry),
                  cell: ({ row: { original: one } }) => (one.isRetry ? <State value="failed" /> : <State value="reviewing" />),
                },
                {
                  header: "", id: "actions",
                  cell: ({ row: { original: one } }) => (
                    <Button kind={opened === one ? "plain" : "primary"} aria-expanded={opened === one}
                      onPress={() => set({ workflow: opened === one ? undefined : one.workflow.id }, true)}>
                      {opened === one ? a.close : a.review}
                    </Button>
                  ),
                },
              ]} />
            )}
            {opened && (
              <Decide key={opened.publication.recordId} {...opened}
                title={`${opened.workflow.name}: ${(opened.isRetry ? t.publication.retryTitle : t.publication.reviewTitle)(opened.publication.version)}`} />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}
