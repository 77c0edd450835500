/** A data source: its connection, its synchronization, its databases, its settings. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, data, Failed } from "../../api/client";
import { isBuiltIn } from "../../api/datasources";
import { useMay } from "../../api/me";
import { queries } from "../../api/query";
import { useFormat, useTexts } from "../../i18n";
import { useAddress, usePath } from "../../search";
import { Button, Menu, Tabs } from "../../ui/controls";
import { Confirm } from "../../ui/confirm";
import { Icon } from "../../ui/icons";
import { marked } from "../../ui/marks";
import { useMounted } from "../../ui/mounted";
import { Code, Facts, Failure, Loaded, Loading, Page, Section, Tag, Time } from "../../ui/page";
import { type Columns, DataTable } from "../../ui/table";
import type { Tagged } from "../tables/api";
import { dialectsQuery } from "./Members";
import { datasourceQuery, Settings } from "./Settings";
import "./style.css";
import { SyncTab, useSync } from "./SyncTab";
import { Tested } from "./Tested";
import { TEXTS } from "./texts";
import type { Datasource } from "./values";

export default function DatasourcePage() {
  const t = useTexts(TEXTS);
  const { id } = usePath();
  const query = useQuery(datasourceQuery(Number(id)));
  if (!query.data) {
    return (
      <Page title={t.datasource} path={[{ to: "/datasources", label: t.title }]}>
        {query.error ? <Failure error={query.error} onRetry={() => void query.refetch()} /> : <Loading />}
      </Page>
    );
  }
  return <Shown key={id} read={query.data} failure={query.error} />;
}

/** `failure`: why the data source could not be read again. */
function Shown({ read, failure }: { read: Tagged<Datasource>; failure: unknown }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const navigate = useNavigate();
  const { text, set } = useAddress();
  const source = read.value;
  const path = { id: source.id };
  const sync = useSync(source.id);
  const dialect = useQuery(dialectsQuery).data?.find((plugin) => plugin.name === source.kind);
  const test = useMutation({ mutationFn: () => data(api.POST("/api/v1/datasources/{id}/test", { params: { path } })) });
  const isMounted = useMounted();
  const [isDeleting, setDeleting] = useState(false);
  const [inUse, setInUse] = useState<Failed | null>(null);
  const isOwn = isBuiltIn(source);
  const tab = text("tab") || "overview";
  const remove = async () => {
    setInUse(null);
    try {
      await data(api.DELETE("/api/v1/datasources/{id}", { params: { path } }) as never);
    } catch (reason) {
      if (!(reason instanceof Failed) || reason.code !== "in_use") throw reason;
      setInUse(reason);
      return;
    }
    if (isMounted.current) await navigate({ to: "/datasources" });
    queries.removeQueries({ queryKey: ["datasources", source.id] });
    await queries.invalidateQueries({ queryKey: ["datasources"] });
  };
  const tabs = [
    { id: "overview", title: t.overview, content: <Overview source={source} title={dialect?.title ?? source.kind} /> },
    ...(isOwn ? [] : [{ id: "sync", title: t.sync, content: <SyncTab read={read} sync={sync} /> }]),
    { id: "databases", title: t.databases, content: <Databases source={source} /> },
    ...(may("updateDatasource") && !isOwn ? [{ id: "settings", title: t.settings, content: <Settings read={read} /> }] : []),
  ];
  return (
    <Page title={source.name} path={[{ to: "/datasources", label: t.title }]}
      lead={dialect?.title ?? source.kind}
      actions={<>
        {may("testDatasource") && <Button icon="run" isBusy={test.isPending} onPress={() => test.mutate()}>{t.test}</Button>}
        {may("startSync") && !isOwn && tab !== "sync" && (
          <Button kind="primary" icon="refresh" isBusy={sync.isRunning} onPress={() => {
            sync.start.mutate();
            set({ tab: "sync" }, true);
          }}>{t.syncNow}</Button>
        )}
        {may("deleteDatasource") && !isOwn && (
          <Menu label={t.more} entries={[{ id: "delete", label: t.delete, icon: "bin", isDanger: true, onAction: () => setDeleting(true) }]} />
        )}
      </>}>
      <div className="row">
        {source.isDefault && <Tag>{t.default}</Tag>}
        {isOwn && <Tag title={t.builtInLead}>{t.builtIn}</Tag>}
        <code className="datasources-url">{source.url}</code>
      </div>
      <Failure error={failure} />
      {test.data && <Tested test={test.data} />}
      <Failure error={test.error} />
      {inUse && (
        <div className="note failure" role="alert">
          <Icon name="warning" />
          <div>
            <p>{t.stillUsed}</p>
            <p>{inUse.message}</p>
            <p className="row">
              <Link to="/tables" search={{ source: source.id } as never}>{t.itsTables}</Link>
              <Link to="/bin" search={{ source: source.id } as never}>{t.itsBin}</Link>
              <Link to="/workflows">{t.workflows}</Link>
            </p>
          </div>
        </div>
      )}
      <Tabs label={t.datasource} value={tabs.some((one) => one.id === tab) ? tab : "overview"} tabs={tabs}
        onChange={(next) => set({ tab: next === "overview" ? undefined : next }, true)} />
      <Confirm title={t.deleteOf(source.name)} action={t.delete} isDanger isOpen={isDeleting} onClose={() => setDeleting(false)} onConfirm={remove}>
        <p>{t.deleteLead}</p>
      </Confirm>
    </Page>
  );
}

function Overview({ source, title }: { source: Datasource; title: string }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const query = { clusterId: source.id, pageSize: 1 };
  const tables = useQuery({
    queryKey: ["tables", "count", source.id],
    queryFn: async () => (await data(api.GET("/api/v1/tables", { params: { query } }))).total,
    enabled: !isBuiltIn(source),
  }).data;
  return (
    <Section title={t.connection}>
      <Facts facts={[
        [t.kind, title],
        ...(source.host === null ? [] : [
          [t.members.host, source.host], [t.members.port, source.port], [t.members.database, source.database], [t.members.username, source.username],
        ] as const),
        ...(source.readUrl === null ? [] : [[t.readUrl, <code>{source.readUrl}</code>]] as const),
        [t.tables, tables === undefined ? null : <Link to="/tables" search={{ source: source.id } as never}>{format.number(tables)}</Link>],
        [t.lastSync, source.lastSyncTime && <Time value={source.lastSyncTime} />],
        [t.nextSync, source.nextSyncTime && <Time value={source.nextSyncTime} />],
        [t.created, <Time value={source.createdAt} />],
        [t.changed, <Time value={source.updatedAt} />],
      ]} />
      {Object.keys(source.options).length > 0 && <><h3>{t.options}</h3><Code>{JSON.stringify(source.options, null, 2)}</Code></>}
      {isBuiltIn(source) && <p className="small">{t.builtInLead}</p>}
    </Section>
  );
}

function Databases({ source }: { source: Datasource }) {
  const t = useTexts(TEXTS);
  const query = useQuery({
    queryKey: ["datasources", source.id, "databases"],
    queryFn: () => data(api.GET("/api/v1/datasources/{id}/databases", { params: { path: { id: source.id } } })),
    staleTime: 60_000,
  });
  const columns: Columns<{ name: string; comment: string | null }> = [
    { id: "name", header: t.name, accessorFn: (one) => one.name, cell: ({ row }) => <span className="strong">{marked(row.original.name)}</span> },
    { id: "comment", header: t.comment, accessorFn: (one) => one.comment ?? "", cell: ({ row }) => row.original.comment ?? <span className="faint">–</span> },
  ];
  return (
    <Loaded query={query}>
      {(databases) => <DataTable rows={databases} columns={columns} label={t.databases} empty={<p className="faint">{t.noDatabases}</p>} />}
    </Loaded>
  );
}
