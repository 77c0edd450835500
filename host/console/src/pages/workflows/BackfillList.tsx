/** The latest backfills of a workflow; a press shows how far one is. */
import { useQuery } from "@tanstack/react-query";
import { api, data, type Schemas } from "../../api/client";
import { useFormat, useTexts } from "../../i18n";
import { Empty, Loaded, Section, State, Time } from "../../ui/page";
import { type Columns, DataTable } from "../../ui/table";
import { TEXTS } from "./texts";

type Summary = Schemas["BackfillSummary"];

export function BackfillList({ workflowId, opened, onOpen, canStart }: {
  workflowId: number; opened: string; onOpen: (code: string) => void; canStart: boolean;
}) {
  const t = useTexts(TEXTS).backfill;
  const format = useFormat();
  const query = useQuery({
    queryKey: ["backfills", "of-workflow", workflowId],
    queryFn: () => data<Summary[]>(api.GET("/api/v1/workflows/{id}/backfills", { params: { path: { id: workflowId } } })),
  });
  const dates = ({ firstDate, lastDate }: Summary) => {
    if (firstDate === null || lastDate === null) return "";
    return firstDate === lastDate ? firstDate : t.firstToLast(firstDate, lastDate);
  };
  const columns: Columns<Summary> = [
    {
      header: t.backfill, accessorFn: (one) => one.code,
      cell: ({ row: { original: { code } } }) => (
        <button type="button" className="workflows-open" aria-pressed={code === opened} onClick={() => {
          onOpen(code);
          window.scrollTo({ top: 0, behavior: "smooth" });
        }}>{code}</button>
      ),
    },
    { header: t.state, accessorFn: (one) => one.state, cell: ({ row }) => <State value={row.original.state} /> },
    {
      header: t.datesDone, accessorFn: (one) => one.firstDate ?? "",
      cell: ({ row: { original } }) => <>{t.dateCount(format.number(original.total))}<div className="small workflows-nowrap">{dates(original)}</div></>,
    },
    { header: t.by, accessorFn: (one) => one.requestedBy },
    { header: t.requested, accessorFn: (one) => one.requestedAt, cell: ({ row }) => <Time value={row.original.requestedAt} /> },
    { header: t.ended, accessorFn: (one) => one.endedAt ?? "", cell: ({ row }) => <Time value={row.original.endedAt} /> },
  ];
  return (
    <Section title={t.latest}>
      <Loaded query={query}>
        {(all) => (
          <DataTable label={t.latest} rows={all} columns={columns} keyOf={(one) => one.code}
            empty={<Empty icon="clock" title={t.latestNone}>{canStart && t.latestNoneLead}</Empty>} />
        )}
      </Loaded>
    </Section>
  );
}
