/** Deleted workflows that their engine still has; shown only if there are any. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useMay } from "../../api/me";
import { useChange } from "../../api/query";
import { useTexts } from "../../i18n";
import { Confirm } from "../../ui/confirm";
import { Button } from "../../ui/controls";
import { Section, Time } from "../../ui/page";
import { DataTable } from "../../ui/table";
import { TEXTS } from "./texts";

type Removal = Schemas["PendingRemoval"];

export function PendingRemovals() {
  const t = useTexts(TEXTS).removals;
  const may = useMay();
  const [given, setGiven] = useState<Removal | null>(null);
  const query = useQuery({
    queryKey: ["workflows", "pending-removal"],
    queryFn: () => data<Removal[]>(api.GET("/api/v1/workflows/pending-removal")),
    enabled: may("listPendingRemovals"),
    staleTime: 30_000,
  });
  const abandon = useChange((id: number) => data(api.DELETE("/api/v1/workflows/pending-removal/{id}", {
    params: { path: { id } },
  })), [["workflows"]]);
  if (!query.data || query.data.length === 0) return null;
  return (
    <Section title={t.title}>
      <p className="small">{t.lead}</p>
      <DataTable<Removal> label={t.title} rows={query.data} keyOf={(one) => String(one.workflowId)} columns={[
        { header: t.name, accessorFn: (one) => one.workflowName },
        { header: t.engine, accessorFn: (one) => one.schedulerEngine },
        { header: t.deletedAt, accessorFn: (one) => one.deletedAt, cell: ({ row }) => <Time value={row.original.deletedAt} /> },
        { header: t.attempts, accessorFn: (one) => one.attempts },
        { header: t.nextAttempt, accessorFn: (one) => one.nextAttemptAt, cell: ({ row }) => <Time value={row.original.nextAttemptAt} /> },
        { header: t.error, accessorFn: (one) => one.error ?? "" },
        {
          header: "", id: "actions",
          cell: ({ row }) => may("abandonRemoval") && <Button onPress={() => setGiven(row.original)}>{t.giveUp}</Button>,
        },
      ]} />
      <Confirm title={t.giveUpOf(given?.workflowName ?? "")} action={t.giveUp} isDanger isOpen={given !== null}
        onClose={() => setGiven(null)}
        onConfirm={() => abandon.mutateAsync(given!.workflowId)}>
        <p>{t.giveUpLead}</p>
      </Confirm>
    </Section>
  );
}
