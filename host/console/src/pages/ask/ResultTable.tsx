/** The rows of a result: one value large, more as a table. */
import { useMemo, useState } from "react";
import { failedBy, unreachable } from "../../api/client";
import { isLarge } from "../../api/exact";
import { useLanguage, useTexts } from "../../i18n";
import { Button, Menu } from "../../ui/controls";
import { Failure } from "../../ui/page";
import { marked } from "../../ui/marks";
import { saveFile } from "../../ui/save";
import { type Columns, DataTable } from "../../ui/table";
import { allEvents } from "./events";
import { Long } from "./Long";
import { type Cell, callOf, type Column, csvOf, fileName, isNumeric, isOneValue, type Result, type Table, writesPlainly } from "./results";
import { TEXTS } from "./texts";

type Format = "csv" | "ndjson" | "parquet";

export function ResultTable({ table, name, source }: {
  table: Table;
  /** What it answers; names the file. */
  name: string;
  /** The answer that it is of: the server has its whole table as a file. */
  source?: { taskId: string; result: Result };
}) {
  const t = useTexts(TEXTS);
  const writes = useCell();
  const { columns, rows } = table;
  const heads = useMemo(() => columns.map((column, place): Columns<readonly Cell[]>[number] => {
    const isNumber = isNumeric(column.type) || (column.type === "" && rows.some((row) => typeof row[place] === "number" || isLarge(row[place])));
    return {
      id: String(place),
      header: column.name,
      meta: { isNumber },
      accessorFn: (row) => row[place] ?? undefined,
      sortingFn: (one, other) => compare(one.original[place] ?? null, other.original[place] ?? null, isNumber),
      sortUndefined: "last",
      cell: ({ row }) => {
        const cell = row.original[place] ?? null;
        return cell === null ? <span className="faint">NULL</span> : typeof cell === "string" ? <Long text={cell} /> : <span title={String(cell)}>{writes(column, cell)}</span>;
      },
    };
  }), [columns, rows, writes]);
  if (isOneValue(table)) {
    return (
      <div className="ask-one">
        <div className="ask-value"><Long text={writes(columns[0]!, rows[0]![0] ?? null)} /></div>
        <p className="small">{marked(columns[0]!.name)}</p>
      </div>
    );
  }
  return (
    <div className="ask-table">
      <DataTable label={t.rowsOf(name)} rows={rows} columns={heads} empty={<p className="small">{t.noRows}</p>} />
      <Foot table={table} name={name} {...(source ? { source } : {})} />
    </div>
  );
}

function Foot({ table, name, source }: { table: Table; name: string; source?: { taskId: string; result: Result } }) {
  const t = useTexts(TEXTS);
  const { language } = useLanguage();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [note, setNote] = useState<string | null>(null);
  const count = new Intl.NumberFormat(language).format(table.rows.length);
  const download = async (format: Format) => {
    setBusy(true);
    setError(null);
    setNote(null);
    try {
      const call = source && callOf(source.result, await allEvents(source.taskId));
      if (source && call) {
        const { file, isTruncated } = await fileOf(source.taskId, call, format);
        saveFile(fileName(name, format), file);
        if (isTruncated) setNote(t.fileTruncated);
      } else {
        saveFile(fileName(name, "csv"), new Blob([csvOf(table)], { type: "text/csv" }));
        if (table.isTruncated) setNote(t.fileTruncated);
      }
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <div className="ask-result-foot">
        <span className={table.isTruncated ? "ask-truncated small" : "small"}>
          {table.isTruncated ? (source ? t.firstRowsOfFile(count) : t.firstRows(count)) : t.rows(table.rows.length, count)}
        </span>
        <Button kind="quiet" icon="download" isBusy={isBusy} onPress={() => void download("csv")}>{t.csv}</Button>
        {source && (
          <Menu label={t.otherFormats} icon="down" entries={[
            { id: "ndjson", label: t.ndjson, onAction: () => void download("ndjson") },
            { id: "parquet", label: t.parquet, onAction: () => void download("parquet") },
          ]} />
        )}
      </div>
      {note && <p className="small" role="status">{note}</p>}
      <Failure error={error} />
    </>
  );
}

async function fileOf(taskId: string, callId: string, format: Format): Promise<{ file: Blob; isTruncated: boolean }> {
  const path = [taskId, callId].map(encodeURIComponent);
  let response: Response;
  try {
    response = await fetch(`/api/v1/nl2sql/tasks/${path[0]}/results/${path[1]}?format=${format}`, { cache: "no-store" });
  } catch (reason) {
    throw unreachable(reason);
  }
  if (!response.ok) throw failedBy(response, await response.json().catch(() => null));
  return { file: await response.blob(), isTruncated: response.headers.get("X-Truncated") === "true" };
}

function compare(one: Cell, other: Cell, isNumber: boolean): number {
  if (isNumber) {
    const difference = Number(one) - Number(other);
    if (difference === 0 && isLarge(one) && isLarge(other)) return BigInt(one) < BigInt(other) ? -1 : Number(one !== other);
    if (!Number.isNaN(difference)) return difference;
  }
  return String(one).localeCompare(String(other));
}

/** A value as the reader writes it: numbers that measure have thousands' marks and few decimals. */
function useCell(): (column: Column, cell: Cell) => string {
  const { language } = useLanguage();
  return useMemo(() => {
    const whole = new Intl.NumberFormat(language, { maximumFractionDigits: 2 });
    const small = new Intl.NumberFormat(language, { maximumSignificantDigits: 4 });
    return (column, cell) => {
      if (cell === null) return "NULL";
      if (typeof cell !== "number" || writesPlainly(column)) return String(cell);
      return Math.abs(cell) >= 1 || cell === 0 ? whole.format(cell) : small.format(cell);
    };
  }, [language]);
}
