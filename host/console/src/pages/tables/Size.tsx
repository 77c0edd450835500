/** How large a table is, and how it grew. */
import { useQuery } from "@tanstack/react-query";
import { api, data } from "../../api/client";
import { useChange } from "../../api/query";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button, Select } from "../../ui/controls";
import { Empty, Facts, Failure, Loaded, Section, Time } from "../../ui/page";
import { type Columns, DataTable } from "../../ui/table";
import type { Schemas } from "../../api/client";
import type { TableDetail } from "./api";
import { Chart } from "./Chart";
import { TEXTS } from "./texts";
import { TABLE_TEXTS } from "./texts-table";

type Collected = Schemas["CollectedStatistics"];
type Range = "7" | "30" | "all";

/** As many records are asked for when all are wanted. */
const ALL_MAX = 365;

async function historyOf(id: number, range: Range): Promise<Collected[]> {
  const path = { id };
  if (range === "7") return data(api.GET("/api/v1/tables/{id}/statistics/history/last7days", { params: { path } }));
  if (range === "30") return data(api.GET("/api/v1/tables/{id}/statistics/history/last30days", { params: { path } }));
  const newestFirst = await data(api.GET("/api/v1/tables/{id}/statistics/history", { params: { path, query: { limit: ALL_MAX } } }));
  return newestFirst.reverse();
}

export function Size({ table }: { table: TableDetail }) {
  const t = useTexts(TEXTS);
  const tt = useTexts(TABLE_TEXTS);
  const format = useFormat();
  const { text, set } = useAddress();
  const range = (text("range") || "30") as Range;
  const history = useQuery({ queryKey: ["tables", table.id, "size", range], queryFn: () => historyOf(table.id, range) });
  const measure = useChange(
    () => data(api.GET("/api/v1/tables/{id}/statistics", { params: { path: { id: table.id }, query: { forceRefresh: true } } })),
    [["tables"]],
  );
  const size = (value: number | null) => (value === null ? "–" : format.bytes(value));
  const columns: Columns<Collected> = [
    { id: "at", header: tt.measured, accessorFn: (one) => one.collectedAt },
    { id: "rows", header: t.rows, accessorFn: (one) => one.rowCount ?? -1, cell: ({ row }) => (row.original.rowCount === null ? "–" : format.number(row.original.rowCount)) },
    { id: "data", header: t.size, accessorFn: (one) => one.dataSize ?? -1, cell: ({ row }) => size(row.original.dataSize) },
    { id: "index", header: tt.indexSize, accessorFn: (one) => one.indexSize ?? -1, cell: ({ row }) => size(row.original.indexSize) },
  ];
  const points = (records: Collected[], member: "rowCount" | "dataSize" | "indexSize") => records.flatMap((one) => {
    const value = one[member];
    return value === null ? [] : [{ at: one.collectedAt, value }];
  });
  const refresh = table.physical && table.status === "active" && (
    <Button icon="refresh" isBusy={measure.isPending} onPress={() => measure.mutate(undefined)}>{tt.measureNow}</Button>
  );
  const chart = (title: string, records: Collected[], member: "rowCount" | "dataSize" | "indexSize", shown: (value: number) => string) => {
    const all = points(records, member);
    return all.length > 0 && <Section title={title}><Chart label={title} points={all} kind="line" format={shown} /></Section>;
  };
  return (
    <>
      <div className="row end">
        <Select label={tt.range} value={range} onChange={(value) => set({ range: value === "30" ? undefined : value }, true)}
          choices={[{ value: "7", label: tt.days(7) }, { value: "30", label: tt.days(30) }, { value: "all", label: tt.allRecords(ALL_MAX) }]} />
        {refresh}
      </div>
      <Failure error={measure.error} />
      {measure.data && (
        <Section title={tt.measuredNow}>
          <Facts facts={[
            [t.rows, measure.data.rowCount === null ? null : `${format.number(measure.data.rowCount)} (${measure.data.exact ? tt.exact : tt.estimated})`],
            [t.size, size(measure.data.dataSize)],
            [tt.indexSize, size(measure.data.indexSize)],
            [tt.partitions, measure.data.partitionCount],
            [tt.measured, <Time value={measure.data.collectedAt} />],
          ]} />
        </Section>
      )}
      <Loaded query={history}>
        {(records) => (records.length === 0 ? <Empty icon="clock" title={tt.noSizes}>{tt.noSizesLead}</Empty> : (
          <>
            {chart(t.rows, records, "rowCount", (value) => format.number(value))}
            {chart(t.size, records, "dataSize", (value) => format.bytes(value))}
            {chart(tt.indexSize, records, "indexSize", (value) => format.bytes(value))}
            <details>
              <summary>{tt.asTable}</summary>
              <DataTable rows={records} columns={columns} label={tt.sizeTab} />
            </details>
          </>
        ))}
      </Loaded>
    </>
  );
}
