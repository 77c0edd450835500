/** A table: what it is, and everything that is known of it. */
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "../../api/me";
import { useTexts } from "../../i18n";
import { useAddress, usePath } from "../../search";
import { Button, Menu, type MenuEntry, Tabs } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { marked } from "../../ui/marks";
import { Failure, Loading, Page, Tag } from "../../ui/page";
import { About } from "./About";
import { Access } from "./Access";
import { changesQuery, type TableDetail, tableQuery } from "./api";
import { usePhysicalChange } from "./change";
import { Changes } from "./Changes";
import { Ddl } from "./Ddl";
import { Definition } from "./Definition";
import { Drift } from "./Drift";
import { Fields } from "./Fields";
import { History } from "./History";
import { Neighbours } from "./Neighbours";
import { Size } from "./Size";
import "./style.css";
import { Tasks } from "./Tasks";
import { TEXTS } from "./texts";
import { TABLE_TEXTS } from "./texts-table";
import { makingPhysical, restoring, softDeleting } from "./whole";

export default function TablePage() {
  const t = useTexts(TEXTS);
  const { id } = usePath();
  const table = useQuery(tableQuery(Number(id)));
  const path = [{ to: "/tables", label: t.title }];
  if (!table.data) {
    return (
      <Page title={t.table} path={path}>
        {table.error ? <Failure error={table.error} onRetry={() => void table.refetch()} /> : <Loading />}
      </Page>
    );
  }
  return <Shown key={id} table={table.data.value} failure={table.error} />;
}

/** `failure`: why the table could not be read again. */
function Shown({ table, failure }: { table: TableDetail; failure: unknown }) {
  const t = useTexts(TEXTS);
  const tt = useTexts(TABLE_TEXTS);
  const may = useMay();
  const navigate = useNavigate();
  const { text, set } = useAddress();
  const { start, planned, progress, dialog } = usePhysicalChange();
  const [isDefining, setDefining] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const changes = useQuery({
    ...changesQuery(table.id),
    // A change that is under way ends without anybody asking.
    refetchInterval: (query) => (query.state.data?.some((change) => change.state === "running") ? 2_000 : false),
  }).data;
  const isRunning = changes?.some((change) => change.state === "running") === true;
  const makePhysical = () => start(makingPhysical(tt, table));
  const softDelete = () => start(softDeleting(tt, table));
  const attempt = (what: () => Promise<boolean>, then?: () => void) => () => {
    setError(null);
    what().then((isDone) => isDone && then?.()).catch(setError);
  };
  const restore = () => start(restoring(tt, { id: table.id, tableName: table.tableName, originTableName: table.originTableName ?? "" }));
  const isActive = table.status === "active";
  const entries: MenuEntry[] = [];
  if (isActive && may("updateTable")) entries.push({ id: "define", label: tt.define, icon: "edit", onAction: () => setDefining(true) });
  if (isActive && may("softDeleteTable")) {
    entries.push({
      id: "delete", label: tt.softDelete, icon: "bin", isDanger: true,
      onAction: attempt(softDelete, () => void navigate({ to: "/bin" })),
    });
  }
  const mayMake = isActive && !table.physical && table.fields.length > 0 && may("createPhysicalTable");
  const tab = text("tab") || "fields";
  return (
    <Page title={table.tableName} path={[{ to: "/tables", label: t.title }]}
      lead={table.tableComment ?? undefined}
      actions={<>
        {mayMake && <Button kind="primary" icon="database" isBusy={planned !== null} onPress={attempt(makePhysical)}>{tt.makePhysical}</Button>}
        {!isActive && may("restoreTable") && <Button kind="primary" icon="refresh" isBusy={planned !== null} onPress={attempt(restore)}>{tt.restore}</Button>}
        <Link className="button plain" to="/lineage" search={{ table: table.id } as never}><Icon name="lineage" />{tt.lineage}</Link>
        <Menu label={tt.more} entries={entries} />
      </>}>
      <div className="row">
        {table.cluster ? (
          <Link to={`/datasources/${table.cluster.id}`} className="row tables-source"><Icon name="database" />{marked(table.cluster.name)}</Link>
        ) : <span className="faint">{t.noSourceYet}</span>}
        <span className="faint">{marked(table.dbName)}</span>
        {table.layer && <Tag>{table.layer}</Tag>}
        {!isActive ? <Tag tone="warn">{tt.inBin}</Tag> : table.physical ? <Tag tone="good">{tt.physical}</Tag> : <Tag title={t.logicalLead}>{t.logical}</Tag>}
        {table.drift.length > 0 && <Tag tone="warn">{tt.driftCount(table.drift.length)}</Tag>}
        {isRunning && <Tag tone="busy">{tt.changeRuns}</Tag>}
        {table.owner && <span className="faint">{tt.ownedBy(table.owner)}</span>}
        {table.tags.map((tag) => <Tag key={tag}>{tag}</Tag>)}
      </div>
      <Failure error={failure} />
      <Failure error={error} />
      {progress}
      {!isActive && (
        <div className="note"><Icon name="bin" /><div><p>{tt.binLead(table.originTableName ?? "", table.purgeAt ?? "")}</p><Link to="/bin">{tt.toBin}</Link></div></div>
      )}
      <Drift drift={table.drift} />
      <div className="tables-detail">
        <Tabs label={t.table} value={tab} onChange={(next) => set({ tab: next === "fields" ? undefined : next, field: undefined }, true)} tabs={[
          { id: "fields", title: tt.fieldsTab(table.fields.length), content: <Fields table={table} start={start} /> },
          { id: "ddl", title: "DDL", content: <Ddl table={table} onMake={mayMake ? attempt(makePhysical) : undefined} /> },
          { id: "size", title: tt.sizeTab, content: <Size table={table} /> },
          { id: "access", title: tt.accessTab, content: <Access table={table} /> },
          { id: "history", title: tt.historyTab, content: <History id={table.id} /> },
          { id: "lineage", title: tt.lineage, content: <Neighbours id={table.id} /> },
          { id: "tasks", title: tt.tasksTab, content: <Tasks id={table.id} /> },
          { id: "changes", title: tt.changesTab, content: <Changes id={table.id} /> },
        ]} />
        <About table={table} start={start} />
      </div>
      {isDefining && <Definition table={table} start={start} onClose={() => setDefining(false)} />}
      {dialog}
    </Page>
  );
}
