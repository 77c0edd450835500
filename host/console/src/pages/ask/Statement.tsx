/** The SQL of a result, which can be changed and run as the reader's own query. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api, bare, data, Failed, type Schemas } from "../../api/client";
import { datasourcesQuery } from "../../api/datasources";
import { useMay } from "../../api/me";
import { useFormat, useTexts } from "../../i18n";
import { Button } from "../../ui/controls";
import { Editor } from "../../ui/editor";
import { errorOf, Failure, Progress, Tag } from "../../ui/page";
import { Chart } from "./Chart";
import { CopyButton } from "../../ui/copy";
import { allEvents } from "./events";
import { ResultTable } from "./ResultTable";
import { foundFields, type Result, tableOf } from "./results";
import { TEXTS } from "./texts";

/** What was typed and run, kept while another tab of the result is shown. */
export function useStatement(result: Result) {
  const [sql, setSql] = useState(result.statement?.sql ?? "");
  const run = useMutation<Schemas["QueryResult"], Error, string>({
    mutationFn: (text) =>
      bare(api.POST("/api/v1/nl2sql/run", { body: { datasource: result.statement?.datasource ?? "", sql: text } })),
  });
  return { sql, setSql, run };
}

export function Statement({ taskId, result, name, state }: {
  taskId: string; result: Result; name: string; state: ReturnType<typeof useStatement>;
}) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const format = useFormat();
  const { sql, setSql, run } = state;
  const { statement, table, spec } = result;
  const mayRun = may("runStatement");
  const names = useNames(statement?.datasource, mayRun);
  // The tables that the answer was found in are offered while typing, also their fields after an alias.
  const schema = useQuery({
    queryKey: ["found", taskId],
    queryFn: async () => foundFields(await allEvents(taskId)),
    enabled: mayRun,
    staleTime: Infinity,
    retry: false,
  }).data;
  const start = () => {
    if (sql.trim() !== "" && !run.isPending) run.mutate(sql);
  };
  const ran = useMemo(() => run.data && tableOf(run.data), [run.data]);
  if (!statement) return null;
  const isAlike = ran && table && ran.rows.length > 1 && JSON.stringify(ran.columns.map(nameOf)) === JSON.stringify(table.columns.map(nameOf));
  return (
    <div className="stack">
      <Editor language="sql" label={t.sqlOf(name)} isLabelHidden value={sql} onChange={setSql} isReadOnly={!mayRun} onRun={start}
        minHeight="3rem" maxHeight="22rem" {...(schema ? { schema } : {})} {...(names ? { names } : {})} />
      <div className="row">
        {mayRun && <Button kind="primary" icon="run" isBusy={run.isPending} isDisabled={sql.trim() === ""} onPress={start}>{t.run}</Button>}
        {sql !== statement.sql && <Button icon="refresh" onPress={() => setSql(statement.sql)}>{t.original}</Button>}
        <CopyButton text={sql} label={t.copySql} />
        <span className="small ask-grow">{t.onDatasource} <Tag>{statement.datasource}</Tag></span>
        {mayRun && <span className="small ask-keys">{t.runKeys}</span>}
      </div>
      {run.isPending && <Progress label={t.isRunning} />}
      {!run.isPending && <Failure error={refusal(run.error)} />}
      {!run.isPending && run.data && ran && (
        <section className="stack" aria-label={t.ranRows}>
          <p className="small">{t.took(format.number(run.data.took_ms))}{run.variables !== sql && ` · ${t.changedSince}`}</p>
          {spec && isAlike && <Chart spec={spec} table={ran} isOther name={name} />}
          <ResultTable table={ran} name={name} />
        </section>
      )}
    </div>
  );
}

/** Why the statement was refused, without what is meant for programs: the member's name, the guard's rule, addresses. */
function refusal(error: unknown): unknown {
  const text = errorOf(error, "sql") ?? (error instanceof Failed && error.code === "guard_refused" ? error.message : undefined);
  if (!(error instanceof Failed) || text === undefined) return error;
  return new Failed(error.status, error.code, text.replace(/(; correct it and send it again)?( \(GET [^)]*\))?$/, ""), error.requestId);
}

/** At most so many names are asked for; more letters find the others. */
const NAMES_MAX = 50;

/** Searches the catalogue for the tables and fields of a data source, which a statement may name. */
function useNames(datasource: string | undefined, isEnabled: boolean) {
  const client = useQueryClient();
  const clusterId = useQuery({ ...datasourcesQuery, enabled: isEnabled }).data?.find((one) => one.name === datasource)?.id;
  if (clusterId === undefined) return undefined;
  return (keyword: string, isTable: boolean) => {
    const query = { keyword, clusterId, pageSize: NAMES_MAX };
    return client.fetchQuery({
      queryKey: ["names", isTable, query],
      queryFn: async () => {
        if (isTable) return (await data(api.GET("/api/v1/tables", { params: { query } }))).records.map((one) => one.tableName);
        const hits = (await data(api.GET("/api/v1/search", { params: { query } }))).records;
        return [...new Set(hits.flatMap((one) => one.fieldName ?? []))];
      },
      staleTime: 60_000,
      // Without an answer, only what is known is offered.
    }).catch((): string[] => []);
  };
}

const nameOf = (column: { name: string }) => column.name;
