/** The list of tables, with a choice of several. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { memo, useCallback } from "react";
import { api, data } from "../../api/client";
import { datasourcesQuery } from "../../api/datasources";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Checkbox } from "../../ui/controls";
import { marked } from "../../ui/marks";
import { Empty, Tag } from "../../ui/page";
import { SortMark } from "../../ui/table";
import type { Table } from "./api";
import { type Filters, type SortField } from "./filters";
import { type LoadPage, PagedRows } from "./PagedRows";
import { TEXTS } from "./texts";

const ROW_PX = 54;
const WIDTHS = [undefined, "7.5rem", "5rem", "6.5rem", "8.5rem", "6rem", "6rem", "6.8rem"];

export function TableList({ filters, isNarrowed, chosen, onChoose, onTotal, empty }: {
  filters: Filters; isNarrowed: boolean;
  /** The chosen tables; absent where the role may change none. */
  chosen?: ReadonlySet<number>; onChoose?: (id: number, isChosen: boolean) => void; onTotal: (total: number) => void;
  empty: React.ReactNode;
}) {
  const t = useTexts(TEXTS);
  const sources = useQuery(datasourcesQuery).data;
  const load: LoadPage<Table> = useCallback(
    (page, signal) => data(api.GET("/api/v1/tables", { params: { query: { ...filters, ...page } }, signal })),
    [filters],
  );
  const isChoosing = chosen !== undefined && onChoose !== undefined;
  return (
    <PagedRows<Table> label={t.tables} queryKey={["tables", "list", filters]} load={load} rowPx={ROW_PX} onTotal={onTotal}
      columns={isChoosing ? ["2.6rem", ...WIDTHS] : WIDTHS}
      head={<>
        {isChoosing && <th scope="col"><span className="hidden">{t.choose}</span></th>}
        <Sorted field="tableName" filters={filters}>{t.name}</Sorted>
        <th scope="col">{t.source}</th>
        <Sorted field="layer" filters={filters}>{t.layer}</Sorted>
        <th scope="col">{t.owner}</th>
        <th scope="col">{t.tags}</th>
        <Sorted field="row_count" filters={filters} isNumber>{t.rows}</Sorted>
        <Sorted field="data_size" filters={filters} isNumber>{t.size}</Sorted>
        <Sorted field="updated_at" filters={filters}>{t.updated}</Sorted>
      </>}
      row={(table) => <>
        {isChoosing && <Choice id={table.id} name={table.tableName} isChosen={chosen.has(table.id)} onChoose={onChoose} />}
        <Cells table={table} source={sources?.find((one) => one.id === table.clusterId)?.name} />
      </>}
      empty={isNarrowed ? <Empty title={t.noneFits}>{t.noneFitsLead}</Empty> : empty} />
  );
}

// Rows that stay in sight are not drawn again with every step of scrolling.
const Choice = memo(function Choice({ id, name, isChosen, onChoose }: {
  id: number; name: string; isChosen: boolean; onChoose: (id: number, isChosen: boolean) => void;
}) {
  const t = useTexts(TEXTS);
  return (
    <td className="tables-choice">
      <Checkbox label={<span className="hidden">{t.chooseOne(name)}</span>} isSelected={isChosen} onChange={(next) => onChoose(id, next)} />
    </td>
  );
});

const Cells = memo(function Cells({ table, source }: { table: Table; source: string | undefined }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const tags = table.tags.slice(0, 2);
  const comment = table.tableComment ?? table.description;
  return (
    <>
      <td>
        <div className="tables-name">
          <Link to={`/tables/${table.id}`} className="strong">{marked(table.tableName)}</Link>
          <span className="small">{marked(table.dbName)}</span>
          {!table.physical && <Tag title={t.logicalLead}>{t.logical}</Tag>}
        </div>
        {comment && <div className="small tables-line" title={comment}>{marked(comment)}</div>}
      </td>
      <td>{source ?? <span className="faint">–</span>}</td>
      <td>{table.layer ? <Tag>{table.layer}</Tag> : <span className="faint">–</span>}</td>
      <td>{table.owner ?? <span className="faint">–</span>}</td>
      <td title={table.tags.join(", ")}>
        {tags.map((tag) => <Tag key={tag}>{tag}</Tag>)}
        {table.tags.length > tags.length && <span className="small"> +{table.tags.length - tags.length}</span>}
      </td>
      <td className="number">{table.rowCount === null ? <span className="faint">–</span> : format.number(table.rowCount)}</td>
      <td className="number">{table.dataSize === null ? <span className="faint">–</span> : format.bytes(table.dataSize)}</td>
      <td className="small" title={table.updatedAt}>{format.day(table.updatedAt)}</td>
    </>
  );
});

/** A head that sorts the whole list: up, down, and as it came. */
function Sorted({ field, filters, isNumber, children }: {
  field: SortField; filters: Filters; isNumber?: boolean; children: string;
}) {
  const { set } = useAddress();
  const order = filters.sortField === field ? filters.sortOrder : undefined;
  // Numbers and times are wanted from the largest on.
  const first = isNumber || field === "updated_at" ? "desc" : "asc";
  const press = () => {
    const next = order === undefined ? first : order === first ? (first === "asc" ? "desc" : "asc") : undefined;
    set({ sort: next && field, order: next }, true);
  };
  return (
    <th scope="col" className={isNumber ? "number" : undefined} aria-sort={order === "asc" ? "ascending" : order === "desc" ? "descending" : undefined}>
      <button type="button" className="sort" onClick={press}>{children}<SortMark order={order ?? false} /></button>
    </th>
  );
}
