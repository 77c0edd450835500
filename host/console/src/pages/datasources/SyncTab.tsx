/** Reads the tables of a data source into the catalogue, and says what was different. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { api, data } from "../../api/client";
import { useMay } from "../../api/me";
import { queries, useChange } from "../../api/query";
import { useFormat, useTexts } from "../../i18n";
import { Button } from "../../ui/controls";
import { Form } from "../../ui/form";
import { Icon } from "../../ui/icons";
import { useLeaving } from "../../ui/leaving";
import { Locked } from "../../ui/locked";
import { marked } from "../../ui/marks";
import { Empty, errorOf, Facts, Failure, Progress, Section, State, Time } from "../../ui/page";
import { type Columns, DataTable } from "../../ui/table";
import { ifMatch, isStale, type Tagged } from "../tables/api";
import { readAgain } from "./Settings";
import { SyncCron } from "./SyncCron";
import { type Sync, syncQuery } from "./sync-query";
import { TEXTS } from "./texts";
import type { Datasource } from "./values";

/** Starting and cancelling; the request answers at the end, or after a while. */
export function useSync(id: number) {
  const path = { id };
  const query = syncQuery(id);
  const refresh = () => Promise.all(["datasources", "tables", "lineage"].map((first) => queries.invalidateQueries({ queryKey: [first] })));
  const start = useMutation({
    mutationFn: () => data(api.POST("/api/v1/datasources/{id}/sync", { params: { path } })),
    onSuccess: (sync) => queries.setQueryData(query.queryKey, sync),
    onSettled: refresh,
  });
  const cancel = useMutation({
    mutationFn: () => data(api.DELETE("/api/v1/datasources/{id}/sync", { params: { path } }) as Promise<{ data?: { data: Sync }; response: Response }>),
    onSettled: refresh,
  });
  const last = useQuery({
    ...query,
    // While the request waits, the list of before is asked again until the new one is in it.
    refetchInterval: (state) => (start.isPending ? 400 : query.refetchInterval(state)),
  });
  const isRunning = last.data?.state === "running";
  const wasRunning = useRef(false);
  useEffect(() => {
    // One that went on beyond its request, or that began elsewhere, has ended.
    if (wasRunning.current && !isRunning) void refresh();
    wasRunning.current = isRunning;
  }, [isRunning]);
  return { start, cancel, last, isRunning: isRunning || start.isPending };
}

export function SyncTab({ read, sync }: { read: Tagged<Datasource>; sync: ReturnType<typeof useSync> }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const { start, cancel, last, isRunning } = sync;
  const source = read.value;
  const shown = last.data;
  return (
    <>
      <Section title={t.lastSyncTitle} actions={may("startSync") && (isRunning
        ? may("cancelSync") && <Button icon="stop" isBusy={cancel.isPending} onPress={() => cancel.mutate()}>{t.cancelSync}</Button>
        : <Button kind="primary" icon="refresh" onPress={() => start.mutate()}>{t.syncNow}</Button>)}>
        <Failure error={start.error} />
        <Failure error={cancel.error} />
        {isRunning && (
          <Progress label={shown?.progress.tablesTotal ? t.readingTables : t.countingTables}
            {...(shown?.state === "running" && shown.progress.tablesTotal !== null
              ? { value: shown.progress.tablesDone, of: shown.progress.tablesTotal } : {})} />
        )}
        {last.error ? <Failure error={last.error} onRetry={() => void last.refetch()} /> : null}
        {shown === null && !isRunning && <Empty icon="refresh" title={t.neverSynced}>{t.neverSyncedLead}</Empty>}
        {shown && !(start.isPending && shown.state !== "running") && <Outcome sync={shown} source={source} />}
      </Section>
      <Timetable read={read} />
    </>
  );
}

function Outcome({ sync, source }: { sync: Sync; source: Datasource }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const columns: Columns<Sync["errors"][number]> = [
    { id: "table", header: t.table, accessorFn: (one) => one.table ?? "", cell: ({ row }) => (row.original.table ? <code>{marked(row.original.table)}</code> : t.wholeSource) },
    { id: "message", header: t.message, accessorFn: (one) => one.message },
  ];
  return (
    <>
      <Facts facts={[
        [t.state, <State value={sync.state} />],
        [t.started, <Time value={sync.startedAt} />],
        [t.finished, sync.finishedAt && <Time value={sync.finishedAt} />],
        [t.tablesRead, sync.progress.tablesTotal === null ? null : `${format.number(sync.progress.tablesDone)} / ${format.number(sync.progress.tablesTotal)}`],
      ]} />
      <table className="datasources-difference">
        <thead><tr><th scope="col">{t.difference}</th><th scope="col" className="number">{t.new}</th><th scope="col" className="number">{t.updated}</th><th scope="col" className="number">{t.missing}</th></tr></thead>
        <tbody>
          {(["tables", "fields"] as const).map((what) => (
            <tr key={what}>
              <th scope="row">{t.what[what]}</th>
              {(["new", "updated", "missing"] as const).map((count) => (
                <td key={count} className={sync[what][count] === 0 ? "number faint" : "number strong"}>{format.number(sync[what][count])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p className="small">{t.missingLead} <Link to="/tables" search={{ source: source.id, sort: "updated_at", order: "desc" } as never}>{t.toTables}</Link></p>
      {sync.errors.length > 0 && (
        <>
          <h3>{t.errors}</h3>
          <DataTable rows={sync.errors} columns={columns} label={t.errors} />
        </>
      )}
    </>
  );
}

/** What was typed, and over what. */
interface Edit {
  cron: string;
  over: Tagged<Datasource>;
}

function Timetable({ read }: { read: Tagged<Datasource> }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const source = read.value;
  const stands = source.syncCron ?? "";
  const [edit, setEdit] = useState<Edit | null>(null);
  const cron = edit?.cron ?? stands;
  const isDirty = cron.trim() !== stands;
  const leaving = useLeaving(isDirty);
  const save = useChange(async ({ cron, over }: Edit) => {
    const put = (tag: string | undefined) => data(api.PUT("/api/v1/datasources/{id}", {
      params: { path: { id: source.id }, header: ifMatch(tag) }, body: { syncCron: cron.trim() === "" ? null : cron.trim() },
    }));
    try {
      return await put(over.tag);
    } catch (reason) {
      if (!isStale(reason)) throw reason;
      const now = await readAgain(source.id);
      // Something else of it changed, as with each synchronization: this is still what was typed over.
      if (now.value.syncCron === over.value.syncCron) return put(now.tag);
      setEdit({ cron, over: now });
      throw reason;
    }
  }, [["datasources"]]);
  return (
    <Section title={t.timetable}>
      {leaving}
      <Facts facts={[
        [t.syncCron, source.syncCron === null ? t.often.never : <code>{source.syncCron}</code>],
        [t.nextSync, source.nextSyncTime && <Time value={source.nextSyncTime} />],
      ]} />
      {may("updateDatasource") && (
        <Form isBusy={save.isPending} onSubmit={() => edit && save.mutate(edit, { onSuccess: () => setEdit(null) })}>
          <Locked isBusy={save.isPending}>
            <SyncCron value={cron} onChange={(next) => setEdit({ cron: next, over: edit?.over ?? read })} error={errorOf(save.error, "syncCron")} />
          </Locked>
          {isStale(save.error) ? <p className="note" role="alert"><Icon name="warning" />{t.changedMeanwhile}</p>
            : errorOf(save.error, "syncCron") === undefined && <Failure error={save.error} />}
          <div className="actions">
            <Button type="submit" kind="primary" isBusy={save.isPending} isDisabled={!isDirty}>{isStale(save.error) ? t.overwrite : t.save}</Button>
          </div>
        </Form>
      )}
    </Section>
  );
}
