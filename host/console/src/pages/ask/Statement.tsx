/** The SQL of a result, which can be changed and run as the reader's own query. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api, bare, type Schemas } from "../../api/client";
import { useMay } from "../../api/me";
import { useFormat, useTexts } from "../../i18n";
import { Button } from "../../ui/controls";
import { Editor } from "../../ui/editor";
import { Failure, Progress, Tag } from "../../ui/page";
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
  // The tables that the answer was found in are offered while typing.
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
        minHeight="3rem" maxHeight="22rem" {...(schema ? { schema } : {})} />
      <div className="row">
        {mayRun && <Button kind="primary" icon="run" isBusy={run.isPending} isDisabled={sql.trim() === ""} onPress={start}>{t.run}</Button>}
        {sql !== statement.sql && <Button icon="refresh" onPress={() => setSql(statement.sql)}>{t.original}</Button>}
        <CopyButton text={sql} label={t.copySql} />
        <span className="small ask-grow">{t.onDatasource} <Tag>{statement.datasource}</Tag></span>
        {mayRun && <span className="small ask-keys">{t.runKeys}</span>}
      </div>
      {run.isPending && <Progress label={t.isRunning} />}
      {!run.isPending && <Failure error={run.error} />}
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

const nameOf = (column: { name: string }) => column.name;
