/** The physical databases that are connected. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { api, data } from "../../api/client";
import { isBuiltIn } from "../../api/datasources";
import { useMay } from "../../api/me";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button, SearchField } from "../../ui/controls";
import { marked } from "../../ui/marks";
import { Empty, Loaded, Page, State, Tag, Time } from "../../ui/page";
import { type Columns, DataTable, Pager } from "../../ui/table";
import { useTyped } from "../../ui/typed";
import { dialectsQuery } from "./Members";
import { NewDatasource } from "./NewDatasource";
import { syncQuery } from "./sync-query";
import "./style.css";
import { TEXTS } from "./texts";
import type { Datasource } from "./values";

const PAGE_SIZE = 50;

export default function DatasourcesPage() {
  const t = useTexts(TEXTS);
  const may = useMay();
  const { text, number, set } = useAddress();
  const [typed, setTyped] = useTyped("q");
  const page = number("page", 1);
  const keyword = text("q").trim();
  const query = useQuery({
    queryKey: ["datasources", "page", keyword, page],
    queryFn: () => data(api.GET("/api/v1/datasources", {
      params: { query: { pageNum: page, pageSize: PAGE_SIZE, ...(keyword === "" ? {} : { keyword }) } },
    })),
    placeholderData: (before) => before,
  });
  const dialects = useQuery(dialectsQuery).data;
  const columns = useMemo((): Columns<Datasource> => [
    {
      id: "name", header: t.name,
      cell: ({ row: { original: source } }) => (
        <span className="row datasources-name">
          <Link to={`/datasources/${source.id}`} className="strong">{marked(source.name)}</Link>
          {source.isDefault && <Tag>{t.default}</Tag>}
          {isBuiltIn(source) && <Tag title={t.builtInLead}>{t.builtIn}</Tag>}
        </span>
      ),
    },
    { id: "kind", header: t.kind, cell: ({ row }) => dialects?.find((plugin) => plugin.name === row.original.kind)?.title ?? row.original.kind },
    { id: "url", header: t.address, cell: ({ row }) => <code className="datasources-url">{row.original.url}</code> },
    { id: "state", header: t.sync, cell: ({ row }) => (isBuiltIn(row.original) ? <span className="faint">–</span> : <LastSync id={row.original.id} />) },
    { id: "last", header: t.lastSync, cell: ({ row }) => <Time value={row.original.lastSyncTime} /> },
    { id: "next", header: t.nextSync, cell: ({ row }) => <Time value={row.original.nextSyncTime} /> },
  ], [t, dialects]);
  const add = may("createDatasource") && <Button kind="primary" icon="plus" onPress={() => set({ new: true }, true)}>{t.add}</Button>;
  return (
    <Page title={t.title} lead={t.lead} actions={add}>
      <div className="filters"><SearchField label={t.search} value={typed} onChange={setTyped} /></div>
      <Loaded query={query}>
        {({ records, total }) => (
          <>
            <DataTable rows={records} columns={columns} label={t.title} isPage keyOf={(source) => String(source.id)}
              empty={keyword !== "" ? <Empty icon="search" title={t.noneFits} /> : <Empty icon="database" title={t.none}>{t.noneLead}</Empty>} />
            <Pager page={page} pageSize={PAGE_SIZE} total={total} onChange={(next) => set({ page: next }, true)} />
          </>
        )}
      </Loaded>
      {text("new") !== "" && may("createDatasource") && <NewDatasource onClose={() => set({ new: undefined })} />}
    </Page>
  );
}

function LastSync({ id }: { id: number }) {
  const t = useTexts(TEXTS);
  const sync = useQuery(syncQuery(id)).data;
  if (!sync) return <span className="faint">{sync === null ? t.neverSynced : "–"}</span>;
  const { tablesDone, tablesTotal } = sync.progress;
  return (
    <span className="row">
      <State value={sync.state} />
      {sync.state === "running" && tablesTotal !== null && <span className="small">{tablesDone} / {tablesTotal}</span>}
      {sync.errors.length > 0 && <span className="small">{t.errorCount(sync.errors.length)}</span>}
    </span>
  );
}
