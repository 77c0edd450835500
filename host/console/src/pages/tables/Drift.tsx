/** Where the catalogue and the database did not agree. */
import { useTexts } from "../../i18n";
import { Section } from "../../ui/page";
import { type Columns, DataTable } from "../../ui/table";
import type { TableDetail } from "./api";
import { TABLE_TEXTS } from "./texts-table";

type Difference = TableDetail["drift"][number];

export function Drift({ drift }: { drift: TableDetail["drift"] }) {
  const t = useTexts(TABLE_TEXTS);
  if (drift.length === 0) return null;
  const columns: Columns<Difference> = [
    { id: "what", header: t.what, accessorFn: (one) => one.what, cell: ({ row }) => <code>{row.original.what}</code> },
    { id: "expected", header: t.expected, accessorFn: (one) => one.expected },
    { id: "found", header: t.found, accessorFn: (one) => one.found },
  ];
  return (
    <Section title={t.driftTitle}>
      <p className="small">{t.driftLead}</p>
      <DataTable rows={drift} columns={columns} label={t.driftTitle} />
    </Section>
  );
}
