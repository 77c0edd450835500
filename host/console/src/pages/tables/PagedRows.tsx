/** A list of any length: only the rows in sight are drawn, and only their pages are loaded. */
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useMemo, useRef } from "react";
import { Failure, Loading } from "../../ui/page";
import { useSettled } from "../../ui/settled";

const PAGE_SIZE = 200;

export interface PageOf<T> {
  total: number;
  records: T[];
}

/** Loads the page of this number. */
export type LoadPage<T> = (page: { pageNum: number; pageSize: number }, signal: AbortSignal) => Promise<PageOf<T>>;

/** How long a page must be in sight before it is loaded: one that only flies past is not. */
const SETTLE_MS = 80;

export function PagedRows<T>({ label, queryKey, load, rowPx, columns, head, row, empty, onTotal }: {
  label: string;
  /** What the list is of; it begins with the resource's collection. */
  queryKey: readonly unknown[];
  load: LoadPage<T>;
  rowPx: number;
  /** A width for each column; the one without takes what is left. */
  columns: readonly (string | undefined)[];
  head: ReactNode;
  /** The cells of a row. */
  row: (record: T) => ReactNode;
  empty: ReactNode;
  onTotal?: (total: number) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const ask = (pageNum: number) => ({
    queryKey: [...queryKey, pageNum],
    queryFn: ({ signal }: { signal: AbortSignal }) => load({ pageNum, pageSize: PAGE_SIZE }, signal),
    staleTime: 15_000,
  });
  // While a filter is typed the former list stays until the new one is there.
  const first = useQuery({ ...ask(1), placeholderData: keepPreviousData });
  const total = first.data?.total ?? 0;
  const virtual = useVirtualizer({ count: total, getScrollElement: () => box.current, estimateSize: () => rowPx, overscan: 12 });
  const inSight = virtual.getVirtualItems();
  const from = useSettled(Math.floor((inSight[0]?.index ?? 0) / PAGE_SIZE) + 1, SETTLE_MS);
  const to = useSettled(Math.floor((inSight.at(-1)?.index ?? 0) / PAGE_SIZE) + 1, SETTLE_MS);
  const further = useMemo(
    () => Array.from({ length: Math.max(0, to - from + 1) }, (_, place) => from + place).filter((page) => page > 1),
    [from, to],
  );
  const answers = useQueries({ queries: further.map(ask) });
  const pages = new Map<number, PageOf<T> | undefined>(further.map((page, place) => [page, answers[place]?.data]));
  pages.set(1, first.data);

  const list = JSON.stringify(queryKey);
  useEffect(() => {
    box.current?.scrollTo({ top: 0 });
  }, [list]);
  useEffect(() => {
    if (first.data) onTotal?.(first.data.total);
  }, [first.data, onTotal]);

  // What is shown stays below a later failure.
  const failure = (
    <Failure error={first.error ?? answers.find((answer) => answer.error)?.error}
      onRetry={() => void [first, ...answers].forEach((one) => one.isError && one.refetch())} />
  );
  if (!first.data) return first.error ? failure : <Loading lines={8} />;
  if (total === 0) return <>{failure}{empty}</>;
  const before = inSight[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (inSight.at(-1)?.end ?? 0);
  const filler = (height: number) => (
    <tr aria-hidden="true" className="tables-filler"><td colSpan={columns.length} style={{ blockSize: height }} /></tr>
  );
  return (
    <>
      {failure}
      <div className={first.isPlaceholderData ? "tablebox tables-box waiting" : "tablebox tables-box"} ref={box} tabIndex={0}
        role="region" aria-label={label} aria-busy={first.isPlaceholderData}>
        <table aria-rowcount={total + 1}>
          <colgroup>{columns.map((width, place) => <col key={place} style={width === undefined ? {} : { inlineSize: width }} />)}</colgroup>
          <thead><tr>{head}</tr></thead>
          <tbody>
            {before > 0 && filler(before)}
            {inSight.map((item) => {
              const record = pages.get(Math.floor(item.index / PAGE_SIZE) + 1)?.records[item.index % PAGE_SIZE];
              return (
                <tr key={item.index} aria-rowindex={item.index + 2} style={{ blockSize: rowPx }}>
                  {record === undefined ? <td colSpan={columns.length}><div className="bone" /></td> : row(record)}
                </tr>
              );
            })}
            {after > 0 && filler(after)}
          </tbody>
        </table>
      </div>
    </>
  );
}
