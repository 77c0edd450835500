/** The runs of a workflow, newest first. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Empty, Loaded, State, Time } from "../../ui/page";
import { DataTable, Pager } from "../../ui/table";
import { useTook } from "../runs/took";
import type { WorkflowDetail } from "./data";
import { RunLink, Trigger } from "./parts";
import { TEXTS } from "./texts";

type Run = Schemas["Run"];

const PAGE = 25;
const ACTIVE = new Set(["pending", "running", "paused"]);

export function RunsTab({ workflow }: { workflow: WorkflowDetail }) {
  const t = useTexts(TEXTS).runs;
  const took = useTook();
  const { number, set } = useAddress();
  const page = number("page", 1);
  const query = useQuery({
    queryKey: ["executions", "runs", workflow.id, { page, pageSize: PAGE }],
    queryFn: () => data<Schemas["PageOfRun"]>(api.GET("/api/v1/workflows/{id}/runs", {
      params: { path: { id: workflow.id }, query: { pageNum: page, pageSize: PAGE } },
    })),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (state.data?.records.some((one) => ACTIVE.has(one.status)) ? 2_000 : 15_000),
  });
  return (
    <Loaded query={query}>
      {(runs) => (
        <>
          {runs.total > 0 && <p className="small"><Link to="/runs" search={{ workflow: workflow.id } as never}>{t.openGrid}</Link></p>}
          <DataTable<Run> label={t.title} rows={runs.records} isPage keyOf={(one) => one.instanceId ?? one.createdAt} empty={
            <Empty icon="run" title={t.none}>{workflow.workflowCode === null ? t.noneDraft : t.noneLead}</Empty>
          } columns={[
            {
              header: t.run, id: "run",
              cell: ({ row: { original: one } }) => (
                <RunLink workflowId={workflow.id} instanceId={one.instanceId}>{one.instanceId ?? t.unnamed}</RunLink>
              ),
            },
            { header: t.state, id: "state", cell: ({ row }) => <State value={row.original.status} /> },
            { header: t.trigger, id: "trigger", cell: ({ row }) => <Trigger value={row.original.triggerType} /> },
            { header: t.businessTime, id: "scheduleTime", cell: ({ row }) => <Time value={row.original.scheduleTime} /> },
            { header: t.version, id: "version", cell: ({ row }) => row.original.workflowVersion ?? "–" },
            { header: t.began, id: "startTime", cell: ({ row }) => <Time value={row.original.startTime} /> },
            {
              header: t.took, id: "duration",
              cell: ({ row: { original: one } }) => took(one) ?? "–",
            },
            { header: t.error, id: "error", cell: ({ row }) => row.original.errorMessage ?? "" },
          ]} />
          <Pager page={page} pageSize={PAGE} total={runs.total} onChange={(next) => set({ page: next === 1 ? undefined : next }, true)} />
        </>
      )}
    </Loaded>
  );
}
