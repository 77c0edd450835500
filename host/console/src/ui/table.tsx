/** Tables: sorted by a press on the head, rows that lead to their page, and pages of a longer list. */
import {
  type ColumnDef,
  getCoreRowModel,
  getSortedRowModel,
  type SortingState,
  useReactTable,
} from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useRef, useState } from "react";
import { useFormat, useTexts } from "../i18n";
import { Button } from "./controls";
import { Icon } from "./icons";
import { marked } from "./marks";
import { TEXTS } from "./texts";

export type Columns<T> = ColumnDef<T, any>[];

/** Above this number of rows only those in sight are drawn. */
const VIRTUAL_FROM = 200;
const ROW_PX = 37;

/**
 * A table. `rows` are all there are, or a page of them: a page is sorted by the server, so pass `isPage`.
 * `label` names it to screen readers.
 */
export function DataTable<T>({ rows, columns, label, isPage, keyOf, empty }: {
  rows: readonly T[]; columns: Columns<T>; label: string; isPage?: boolean; keyOf?: (row: T) => string; empty?: ReactNode;
}) {
  const t = useTexts(TEXTS);
  const [sorting, setSorting] = useState<SortingState>([]);
  const box = useRef<HTMLDivElement>(null);
  const table = useReactTable({
    data: rows as T[],
    columns,
    state: { sorting },
    onSortingChange: setSorting,
    enableSorting: !isPage,
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
    ...(keyOf ? { getRowId: (row: T) => keyOf(row) } : {}),
  });
  const all = table.getRowModel().rows;
  const isVirtual = all.length > VIRTUAL_FROM;
  const virtual = useVirtualizer({
    count: all.length,
    enabled: isVirtual,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 20,
  });
  const inSight = virtual.getVirtualItems();
  const shown = isVirtual
    ? inSight.map((item) => ({ row: all[item.index]!, place: item.index }))
    : all.map((row, place) => ({ row, place }));
  const before = isVirtual ? (inSight[0]?.start ?? 0) : 0;
  const after = isVirtual ? virtual.getTotalSize() - (inSight.at(-1)?.end ?? 0) : 0;
  if (rows.length === 0 && empty) return <>{empty}</>;
  return (
    <div className={isVirtual ? "tablebox virtual" : "tablebox"} ref={box} tabIndex={0} role="region" aria-label={label}>
      <table aria-rowcount={all.length + 1}>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((head) => {
                const order = head.column.getIsSorted();
                const title = drawn(head.column.columnDef.header, head.getContext());
                return (
                  <th key={head.id} scope="col" className={alignOf(head.column.columnDef.meta)} aria-sort={order === "asc" ? "ascending" : order === "desc" ? "descending" : undefined}>
                    {head.column.getCanSort() && head.column.columnDef.header !== "" ? (
                      <button type="button" className="sort" onClick={head.column.getToggleSortingHandler()}
                        aria-label={t.sortBy(typeof head.column.columnDef.header === "string" ? head.column.columnDef.header : head.id)}>
                        {title}
                        <SortMark order={order} />
                      </button>
                    ) : title}
                  </th>
                );
              })}
            </tr>
          ))}
        </thead>
        <tbody>
          {before > 0 && <tr aria-hidden="true"><td colSpan={columns.length} style={{ blockSize: before }} /></tr>}
          {shown.map(({ row, place }) => (
            <tr key={row.id} aria-rowindex={place + 2}>
              {row.getVisibleCells().map((cell) => (
                <td key={cell.id} className={alignOf(cell.column.columnDef.meta)}>{drawn(cell.column.columnDef.cell, cell.getContext())}</td>
              ))}
            </tr>
          ))}
          {after > 0 && <tr aria-hidden="true"><td colSpan={columns.length} style={{ blockSize: after }} /></tr>}
        </tbody>
      </table>
    </div>
  );
}

/** How a column is sorted; one that is not shows on the way to it that it can be. */
export function SortMark({ order }: { order: "asc" | "desc" | false }) {
  return <span className={order ? "mark" : "mark idle"}><Icon name={order === "asc" ? "up" : "down"} /></span>;
}

/**
 * What a column gives for a head or a cell. Its function is called, not used as a component: a page makes its columns again
 * with each rendering, and another component would lose what the cell holds, such as a field that is typed in.
 */
function drawn<C>(content: ReactNode | ((context: C) => ReactNode), context: C): ReactNode {
  return marked(typeof content === "function" ? content(context) : content);
}

/** A column with `meta: { isNumber: true }` has its numbers below each other. */
function alignOf(meta: object | undefined): string | undefined {
  return meta && "isNumber" in meta && meta.isNumber ? "number" : undefined;
}

/** The pages of a list of `total`; nothing if there is only one. */
export function Pager({ page, pageSize, total, onChange }: {
  page: number; pageSize: number; total: number; onChange: (page: number) => void;
}) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  if (total <= pageSize) return null;
  const from = (page - 1) * pageSize + 1;
  return (
    <nav className="pager" aria-label={t.pages}>
      <span>{t.of(format.number(from), format.number(Math.min(total, page * pageSize)), format.number(total))}</span>
      <Button onPress={() => onChange(page - 1)} isDisabled={page <= 1}>{t.previous}</Button>
      <Button onPress={() => onChange(page + 1)} isDisabled={page * pageSize >= total}>{t.next}</Button>
    </nav>
  );
}
