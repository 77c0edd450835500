/** How often a table is read, and by whom. */
import { useQuery } from "@tanstack/react-query";
import { api, data, type Schemas } from "../../api/client";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Select } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { Facts, Loaded, Section, Tag, Time, type Tone } from "../../ui/page";
import { type Columns, DataTable } from "../../ui/table";
import type { TableDetail } from "./api";
import { Chart } from "./Chart";
import { TABLE_TEXTS } from "./texts-table";

const TONES: Record<Schemas["Heat"], Tone> = { hot: "bad", warm: "warn", cold: "busy", none: "plain" };
type Days = "7" | "30" | "90";

export function Access({ table }: { table: TableDetail }) {
  const t = useTexts(TABLE_TEXTS);
  const format = useFormat();
  const { text, set } = useAddress();
  const days = (text("days") || "30") as Days;
  const query = useQuery({
    queryKey: ["tables", table.id, "access", days],
    queryFn: () => data(api.GET("/api/v1/tables/{id}/access-stats", {
      params: { path: { id: table.id }, query: { recentDays: Number(days), trendDays: Number(days), topUsers: 20 } },
    })),
  });
  // The notes of the dialects are English; the known ones have a translation.
  const said = (note: string) => t.accessNotes.reduce((text, [english, own]) => text.replace(english, own), note);
  const columns: Columns<Schemas["AccessUser"]> = [
    { id: "user", header: t.reader, accessorFn: (one) => one.user },
    { id: "count", header: t.accesses, accessorFn: (one) => one.count, cell: ({ row }) => format.number(row.original.count) },
    { id: "last", header: t.lastAccess, accessorFn: (one) => one.lastAccessTime ?? "", cell: ({ row }) => <Time value={row.original.lastAccessTime} /> },
  ];
  return (
    <>
      <div className="row end">
        <Select label={t.range} value={days} onChange={(value) => set({ days: value === "30" ? undefined : value }, true)}
          choices={(["7", "30", "90"] as const).map((value) => ({ value, label: t.days(Number(value)) }))} />
      </div>
      <Loaded query={query}>
        {(access) => (
          <>
            <Section title={t.accessTab}>
              <Facts facts={[
                [t.heat, <Tag tone={TONES[access.heat]} title={t.heatLead}>{t.heats[access.heat]}</Tag>],
                [t.accesses, format.number(access.accessCount)],
                [t.distinctReaders, format.number(access.distinctUsers)],
                [t.lastAccess, access.lastAccessTime && <Time value={access.lastAccessTime} />],
                [t.counted, access.sources.length === 0 ? t.nothingCounted : access.sources.join(", ")],
              ]} />
              {access.trend.some((point) => point.count > 0) && <Chart label={t.accesses} points={access.trend.map((point) => ({ at: point.date, value: point.count }))} kind="bars"
                format={(value) => format.number(value)} />}
              {access.note !== null && <p className="note"><Icon name={access.complete ? "clock" : "warning"} />{said(access.note)}</p>}
              {access.note === null && !access.complete && <p className="note"><Icon name="warning" />{t.incomplete}</p>}
            </Section>
            <Section title={t.topReaders}>
              <DataTable rows={access.topUsers} columns={columns} label={t.topReaders} empty={<p className="faint">{t.noReads}</p>} />
            </Section>
          </>
        )}
      </Loaded>
    </>
  );
}
