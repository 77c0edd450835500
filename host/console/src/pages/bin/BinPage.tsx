/** The recycle bin: tables that were deleted, until they are dropped for good. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { datasourcesQuery, isBuiltIn } from "../../api/datasources";
import { useMay } from "../../api/me";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button, SearchField, Select } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { marked } from "../../ui/marks";
import { Empty, Failure, Loaded, Page, Tag, Time, type Tone } from "../../ui/page";
import { type Columns, DataTable } from "../../ui/table";
import { usePhysicalChange } from "../tables/change";
import { useTyped } from "../../ui/typed";
import "../tables/style.css";
import { TABLE_TEXTS } from "../tables/texts-table";
import { purging, restoring } from "../tables/whole";
import "./style.css";
import { TEXTS } from "./texts";

const ALL = "all";

type Entry = Schemas["PendingDeletion"];

/** Below these days an entry is shown in the colour of a warning, or of a danger. */
const [SOON_DAYS, NOW_DAYS] = [7, 2];

function toneOfDays(days: number): Tone {
  return days <= NOW_DAYS ? "bad" : days <= SOON_DAYS ? "warn" : "plain";
}

export default function BinPage() {
  const t = useTexts(TEXTS);
  const tt = useTexts(TABLE_TEXTS);
  const may = useMay();
  const { text, set } = useAddress();
  const [typed, setTyped] = useTyped("q");
  const { start, planned, progress, dialog } = usePhysicalChange();
  const [error, setError] = useState<unknown>(null);
  const [restored, setRestored] = useState<Entry | null>(null);
  const source = text("source");
  const sources = useQuery(datasourcesQuery).data?.filter((one) => !isBuiltIn(one)) ?? [];
  const query = useQuery({
    queryKey: ["tables", "bin", source],
    queryFn: () => data(api.GET("/api/v1/tables/pending-deletion", { params: { query: source === "" ? {} : { clusterId: Number(source) } } })),
  });
  const mayRestore = may("restoreTable");
  const mayPurge = may("purgeTable");
  const columns = useMemo((): Columns<Entry> => {
    const restore = (entry: Entry) => {
      setError(null);
      setRestored(null);
      start(restoring(tt, entry)).then((isDone) => isDone && setRestored(entry)).catch(setError);
    };
    const purge = (entry: Entry) => {
      setError(null);
      setRestored(null);
      start(purging(tt, entry)).catch(setError);
    };
    const columns: Columns<Entry> = [
      {
        id: "name", header: t.name, accessorFn: (entry) => entry.originTableName,
        cell: ({ row: { original: entry } }) => (
          <>
            <Link to={`/tables/${entry.id}`} className="strong">{marked(entry.originTableName)}</Link> <span className="small">{marked(entry.dbName)}</span>
            <div className="small">{entry.tableComment}</div>
          </>
        ),
      },
      {
        id: "source", header: t.source, accessorFn: (entry) => sources.find((one) => one.id === entry.clusterId)?.name ?? "",
        cell: ({ getValue }) => getValue() || <span className="faint">–</span>,
      },
      { id: "deleted", header: t.deleted, accessorFn: (entry) => entry.deprecatedAt, cell: ({ row }) => <Time value={row.original.deprecatedAt} /> },
      {
        id: "left", header: t.left, accessorFn: (entry) => entry.remainingDays,
        cell: ({ row: { original: entry } }) => (
          <>
            <Tag tone={toneOfDays(entry.remainingDays)} title={entry.purgeAt}>{t.days(entry.remainingDays)}</Tag>
            {entry.purgeError && (
              <p className="bin-error small"><Icon name="warning" /> {t.purgeFailed(entry.purgeError.at)} {entry.purgeError.message}</p>
            )}
          </>
        ),
      },
      { id: "now", header: t.nameNow, accessorFn: (entry) => entry.tableName, cell: ({ row }) => <code>{marked(row.original.tableName)}</code> },
    ];
    if (mayRestore || mayPurge) {
      columns.push({
        id: "actions", header: "", enableSorting: false,
        cell: ({ row: { original: entry } }) => (
          <div className="actions bin-actions">
            {mayRestore && <Button icon="refresh" isBusy={planned === entry.id} onPress={() => restore(entry)}>{tt.restore}</Button>}
            {mayPurge && <Button kind="danger" icon="bin" isBusy={planned === entry.id} onPress={() => purge(entry)}>{tt.purge}</Button>}
          </div>
        ),
      });
    }
    return columns;
  }, [t, tt, sources.length, start, planned, mayRestore, mayPurge]);
  const word = typed.trim().toLowerCase();
  return (
    <Page title={t.title} lead={t.lead}>
      <div className="filters">
        <SearchField label={t.search} value={typed} onChange={setTyped} />
        {sources.length > 1 && (
          <Select label={t.source} isLabelHidden value={source || ALL} onChange={(value) => set({ source: value === ALL ? undefined : value }, true)}
            choices={[{ value: ALL, label: t.allSources }, ...sources.map((one) => ({ value: String(one.id), label: one.name }))]} />
        )}
      </div>
      <Failure error={error} />
      {progress}
      {restored && (
        <div className="note" role="status"><Icon name="check" /><p>{t.restored} <Link to={`/tables/${restored.id}`}>{marked(restored.originTableName)}</Link></p></div>
      )}
      <Loaded query={query}>
        {(entries) => {
          const fitting = entries.filter((entry) => [entry.originTableName, entry.tableName, entry.dbName, entry.tableComment]
            .some((one) => one?.toLowerCase().includes(word)));
          return (
            <DataTable rows={fitting} columns={columns} label={t.title} keyOf={(entry) => String(entry.id)}
              empty={entries.length === 0 ? <Empty icon="bin" title={t.empty}>{t.emptyLead}</Empty> : <Empty icon="search" title={t.noneFits} />} />
          );
        }}
      </Loaded>
      {dialog}
    </Page>
  );
}
