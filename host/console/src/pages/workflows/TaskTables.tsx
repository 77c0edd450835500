/** The tables that a task reads and writes: found in its SQL while it is typed, or given by hand. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Button, Select } from "../../ui/controls";
import { ComboField } from "../../ui/fields";
import { marked } from "../../ui/marks";
import { Failure, Tag } from "../../ui/page";
import { useSettled } from "../../ui/settled";
import type { Draft } from "./draft";
import { TableLink } from "./parts";
import { TEXTS } from "./texts";

/** So long typing has to pause before the text is parsed. */
const PAUSE_MS = 350;

export function TaskTables({ form, language, isReadOnly, onChange }: {
  form: Draft; language: "sql" | "shell" | "json"; isReadOnly: boolean; onChange: (members: Partial<Draft>) => void;
}) {
  const t = useTexts(TEXTS).tasks;
  const isSql = language === "sql";
  const text = useSettled(form.text, PAUSE_MS);
  const parsed = useQuery({
    queryKey: ["tasks", "parse", form.datasource, text],
    queryFn: () => data<Schemas["ParsedSql"]>(api.POST("/api/v1/tasks/parse", {
      body: { sqlContent: text, ...(form.datasource === "" ? {} : { datasourceId: Number(form.datasource) }) },
    })),
    enabled: isSql && text.trim() !== "",
    placeholderData: (before) => before,
    staleTime: 60_000,
  });
  const isGiven = !isSql || !form.isFromSql;
  const found = isSql && text.trim() !== "" ? parsed.data : undefined;
  return (
    <div className="stack">
      {isSql && (
        <Select label={t.tablesFrom} value={form.isFromSql ? "sql" : "hand"} isDisabled={isReadOnly}
          onChange={(value) => onChange({
            isFromSql: value === "sql",
            // By hand one begins with what was found.
            ...(value === "hand" && found ? { inputs: known(found.inputs), outputs: known(found.outputs) } : {}),
          })}
          choices={[{ value: "sql", label: t.fromSql }, { value: "hand", label: t.byHand }]} />
      )}
      {isGiven ? (
        <div className="columns">
          <TableList label={t.reads} ids={form.inputs} isReadOnly={isReadOnly}
            onChange={(inputs) => onChange({ inputs, isFromSql: false })} />
          <TableList label={t.writes} ids={form.outputs} isReadOnly={isReadOnly}
            onChange={(outputs) => onChange({ outputs, isFromSql: false })} />
        </div>
      ) : (
        <div className="columns" aria-live="polite">
          <FoundTables label={t.reads} tables={found?.inputs ?? []} />
          <FoundTables label={t.writes} tables={found?.outputs ?? []} />
        </div>
      )}
      {isSql && parsed.error && <Failure error={parsed.error} />}
      {found?.errors.map((one, place) => <p key={place} className="workflows-wrong">{t.at(one.line, one.column)} {one.message}</p>)}
      {found?.warnings.map((one, place) => <p key={place} className="small">{one}</p>)}
    </div>
  );
}

function known(tables: readonly Schemas["ParsedName"][]): number[] {
  return tables.flatMap((one) => (one.tableId === null ? [] : [one.tableId]));
}

function FoundTables({ label, tables }: { label: string; tables: readonly Schemas["ParsedName"][] }) {
  const t = useTexts(TEXTS).tasks;
  return (
    <div>
      <p className="workflows-label">{label}</p>
      {tables.length === 0 && <p className="small">{t.noTables}</p>}
      <ul className="workflows-tables">
        {tables.map((one) => (
          <li key={one.name}>
            {one.tableId === null
              ? <><code>{marked(one.name)}</code> <Tag tone="warn" title={t.unknownLead}>{t.unknown}</Tag></>
              : <TableLink id={one.tableId}><code>{marked(one.name)}</code></TableLink>}
          </li>
        ))}
      </ul>
    </div>
  );
}

function TableList({ label, ids, isReadOnly, onChange }: {
  label: string; ids: readonly number[]; isReadOnly: boolean; onChange: (ids: number[]) => void;
}) {
  const t = useTexts(TEXTS).tasks;
  const [typed, setTyped] = useState("");
  const keyword = useSettled(typed, PAUSE_MS);
  const offered = useQuery({
    queryKey: ["tables", "choices", keyword],
    queryFn: () => data<Schemas["PageOfTable"]>(api.GET("/api/v1/tables", {
      params: { query: { pageSize: 30, ...(keyword ? { keyword } : {}) } },
    })),
    enabled: !isReadOnly,
    placeholderData: (before) => before,
  });
  const named = useQueries({
    queries: ids.map((id) => ({
      queryKey: ["tables", id],
      queryFn: () => data(api.GET("/api/v1/tables/{id}", { params: { path: { id } } })),
      staleTime: 60_000,
    })),
  });
  const choices = (offered.data?.records ?? []).filter((one) => !ids.includes(one.id))
    .map((one) => ({ value: String(one.id), label: `${one.dbName}.${one.tableName}` }));
  return (
    <div className="stack">
      <p className="workflows-label">{label}</p>
      {ids.length === 0 && <p className="small">{t.noTables}</p>}
      <ul className="workflows-tables">
        {ids.map((id, place) => {
          const table = named[place]?.data;
          const name = table ? `${table.dbName}.${table.tableName}` : `${id}`;
          return (
            <li key={id}>
              <TableLink id={id}><code>{marked(name)}</code></TableLink>
              {!isReadOnly && (
                <Button kind="quiet" icon="close" aria-label={t.removeTable(name)}
                  onPress={() => onChange(ids.filter((one) => one !== id))} />
              )}
            </li>
          );
        })}
      </ul>
      {!isReadOnly && (
        <ComboField label={t.addTable} value={typed} onChange={setTyped} choices={choices} onPick={(value) => {
          onChange([...ids, Number(value)]);
          setTyped("");
        }} />
      )}
    </div>
  );
}
