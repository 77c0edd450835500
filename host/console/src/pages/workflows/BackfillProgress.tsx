/** How far a backfill is, date by date. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useMay } from "../../api/me";
import { useChange } from "../../api/query";
import { useFormat, useTexts } from "../../i18n";
import { Confirm } from "../../ui/confirm";
import { Button } from "../../ui/controls";
import { Facts, Loaded, Progress, Section, State, Time } from "../../ui/page";
import { DataTable, Pager } from "../../ui/table";
import { BUSY_MS } from "./data";
import { RunLink } from "./parts";
import { TEXTS } from "./texts";

/** As many dates as one answer has. */
const PAGE = 1_000;

export function BackfillProgress({ code }: { code: string }) {
  const t = useTexts(TEXTS).backfill;
  const format = useFormat();
  const may = useMay();
  const [page, setPage] = useState(1);
  const [isStopping, setStopping] = useState(false);
  const query = useQuery({
    queryKey: ["backfills", code, page],
    queryFn: () => data<Schemas["BackfillView"]>(api.GET("/api/v1/backfills/{code}", {
      params: { path: { code }, query: { offset: (page - 1) * PAGE } },
    })),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (state.data && isActive(state.data.state) ? BUSY_MS : false),
  });
  const cancel = useChange(() => data(api.POST("/api/v1/backfills/{code}/cancel", {
    params: { path: { code } },
  })), [["backfills"], ["executions"]]);
  return (
    <Section title={t.progress(code)} actions={query.data && isActive(query.data.state) && may("cancelBackfill") && (
      <Button kind="danger" icon="stop" isDisabled={query.data.state === "stopping"} onPress={() => setStopping(true)}>{t.cancel}</Button>
    )}>
      <Loaded query={query}>
        {(backfill) => (
          <>
            <Progress label={t.datesDone} value={backfill.done + backfill.failed} of={backfill.total} />
            <Facts facts={[
              [t.state, <State key="s" value={backfill.state} />],
              [t.done, format.number(backfill.done)], [t.failed, format.number(backfill.failed)],
              [t.running, format.number(backfill.running)], [t.left, format.number(backfill.left)],
              [t.requested, <span key="r">{backfill.requestedBy}, <Time value={backfill.requestedAt} /></span>],
              [t.ended, <Time key="e" value={backfill.endedAt} />],
            ]} />
            {backfill.message && <p className="workflows-wrong">{backfill.message}</p>}
            {backfill.notes && <p className="small">{backfill.notes}</p>}
            <DataTable<Schemas["BackfillDate"]> label={t.inThisOrder} rows={backfill.dates} isPage keyOf={(one) => one.date} columns={[
              { header: t.date, id: "date", cell: ({ row }) => <time>{row.original.date}</time> },
              { header: t.state, id: "state", cell: ({ row }) => <State value={row.original.state} /> },
              {
                header: t.run, id: "run",
                cell: ({ row: { original: one } }) => (
                  <RunLink workflowId={backfill.workflowId} instanceId={one.instanceId}>{one.instanceId ?? "–"}</RunLink>
                ),
              },
              {
                header: t.dependentRuns, id: "dependents",
                cell: ({ row }) => row.original.dependents.map((one) => (
                  <p key={one.workflowId}>
                    <RunLink workflowId={one.workflowId} instanceId={one.instanceId}>{one.workflowName}</RunLink> <State value={one.state} />
                  </p>
                )),
              },
            ]} />
            <Pager page={page} pageSize={PAGE} total={backfill.total} onChange={setPage} />
          </>
        )}
      </Loaded>
      <Confirm title={t.cancelOf(code)} action={t.cancel} isDanger isOpen={isStopping} onClose={() => setStopping(false)}
        onConfirm={() => cancel.mutateAsync(undefined)}>
        <p>{t.cancelLead}</p>
      </Confirm>
    </Section>
  );
}

function isActive(state: string): boolean {
  return state === "running" || state === "stopping";
}
