/** The definition of a table: its name, and where it is to be. A physical table follows. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { datasourcesQuery, isBuiltIn } from "../../api/datasources";
import { useTexts } from "../../i18n";
import { Actions, Button, Dialog, Select, TextField } from "../../ui/controls";
import { Form } from "../../ui/form";
import { errorOf, Failure } from "../../ui/page";
import { changed, ifMatch, isStale, reread, type TableDetail, type Tagged, tableQuery } from "./api";
import { queries } from "../../api/query";
import type { Wanted } from "./change";
import { DORIS_MEMBERS, DorisMembers, dorisBody, type DorisTexts } from "./DorisMembers";
import { TEXTS } from "./texts";
import { TABLE_TEXTS } from "./texts-table";

const NO_SOURCE = "none";

function textsOf(table: TableDetail): DorisTexts {
  const text = (value: string | number | null) => (value === null ? "" : String(value));
  return {
    tableModel: text(table.tableModel), keyColumns: text(table.keyColumns), partitionColumn: text(table.partitionColumn),
    distributionColumn: text(table.distributionColumn), bucketNum: text(table.bucketNum), replicaNum: text(table.replicaNum),
  };
}

export function Definition({ table, start, onClose }: {
  table: TableDetail; start: (wanted: Wanted) => Promise<boolean>; onClose: () => void;
}) {
  const t = useTexts(TEXTS);
  const tt = useTexts(TABLE_TEXTS);
  const sources = useQuery(datasourcesQuery).data?.filter((one) => !isBuiltIn(one)) ?? [];
  const [tag, setTag] = useState(() => queries.getQueryData<Tagged<TableDetail>>(tableQuery(table.id).queryKey)?.tag);
  // What the form began with: only what was changed is sent.
  const [began] = useState(table);
  const [name, setName] = useState(table.tableName);
  const [database, setDatabase] = useState(table.dbName);
  const [source, setSource] = useState(table.clusterId === null ? NO_SOURCE : String(table.clusterId));
  const [doris, setDoris] = useState(() => textsOf(table));
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const kind = sources.find((one) => String(one.id) === source)?.kind;
  // The members whose field says what is wrong with it.
  const shown = ["tableName", ...(table.physical ? [] : ["clusterId", "dbName"]), ...(kind === "doris" ? DORIS_MEMBERS : [])];
  const body: Schemas["UpdateTable"] = {};
  if (name !== began.tableName) body.tableName = name.trim();
  if (database !== began.dbName) body.dbName = database.trim();
  if (source !== (began.clusterId === null ? NO_SOURCE : String(began.clusterId))) body.clusterId = source === NO_SOURCE ? null : Number(source);
  const before = textsOf(began);
  Object.assign(body, dorisBody(Object.fromEntries(Object.entries(doris).filter(([member, text]) => text !== before[member as keyof DorisTexts]))));
  // Shown again behind the form; saving again overwrites what others changed.
  const takeStanding = async () => setTag((await reread(table.id)).tag);
  const submit = async () => {
    setBusy(true);
    setError(null);
    try {
      const isDone = await start({
        tableId: table.id, title: tt.changeDefinition, action: tt.run,
        send: (dryRun) => changed(api.PUT("/api/v1/tables/{id}", { params: { path: { id: table.id }, query: { dryRun }, header: ifMatch(tag) }, body })),
      });
      if (isDone) onClose();
    } catch (reason) {
      setError(isStale(reason) ? await takeStanding().then(() => reason, (failure: unknown) => failure) : reason);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={tt.define} isOpen isBusy={isBusy} onClose={onClose}>
      <Form onSubmit={submit} isBusy={isBusy}>
        {table.physical && <p className="small">{tt.definePhysicalLead}</p>}
        <TextField label={t.tableName} value={name} onChange={setName} isRequired autoFocus error={errorOf(error, "tableName")} />
        {!table.physical && (
          <>
            <Select label={t.source} value={source} onChange={setSource} error={errorOf(error, "clusterId")}
              choices={[...sources.map((one) => ({ value: String(one.id), label: `${one.name} (${one.kind})` })), { value: NO_SOURCE, label: t.noSourceYet }]} />
            <TextField label={t.database} value={database} onChange={setDatabase} isRequired error={errorOf(error, "dbName")} />
          </>
        )}
        {kind === "doris" && <DorisMembers values={doris} onChange={setDoris} error={error} isPhysical={table.physical} />}
        {isStale(error) ? <p className="note" role="alert">{tt.tableChangedMeanwhile}</p> : <Failure error={error} shown={shown} />}
        <Actions>
          <Button isDisabled={isBusy} onPress={onClose}>{t.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={isBusy} isDisabled={Object.keys(body).length === 0}>{isStale(error) ? tt.overwrite : tt.save}</Button>
        </Actions>
      </Form>
    </Dialog>
  );
}
