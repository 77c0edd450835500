/** What the search finds in the names, comments, descriptions and tags of tables and fields, the best first. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCallback } from "react";
import { api, data, type Schemas } from "../../api/client";
import { datasourcesQuery } from "../../api/datasources";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { marked } from "../../ui/marks";
import { Empty, Tag } from "../../ui/page";
import { type LoadPage, PagedRows } from "./PagedRows";
import { TEXTS } from "./texts";

type Hit = Schemas["SearchHit"];

export function SearchHits({ keyword, clusterId, onTotal }: {
  keyword: string; clusterId?: number; onTotal: (total: number) => void;
}) {
  const t = useTexts(TEXTS);
  const { set } = useAddress();
  const sources = useQuery(datasourcesQuery).data;
  const load: LoadPage<Hit> = useCallback(
    (page, signal) => data(api.GET("/api/v1/search", { params: { query: { keyword, clusterId, ...page } }, signal })),
    [keyword, clusterId],
  );
  const words = keyword.toLowerCase().split(/[\s.]+/).filter((word) => word !== "");
  const sourceOf = (id: number | null | undefined) => sources?.find((source) => source.id === id)?.name;
  return (
    <>
      {clusterId !== undefined && (
        <div className="row">
          <Button kind="quiet" icon="close" onPress={() => set({ source: undefined }, true)}>{t.source}: {sourceOf(clusterId) ?? clusterId}</Button>
        </div>
      )}
      <PagedRows<Hit> label={t.hits} queryKey={["tables", "search", keyword, clusterId ?? null]} load={load} rowPx={54} onTotal={onTotal}
        columns={[undefined, "11rem", "9rem"]}
        head={<><th scope="col">{t.name}</th><th scope="col">{t.foundIn}</th><th scope="col">{t.source}</th></>}
        row={(hit) => <>
          <td>
            <div className="tables-name">
              <Icon name={hit.type === "table" ? "table" : "field"} />
              {hit.type === "table" ? (
                <Link to={`/tables/${hit.tableId}`} className="strong"><Marked text={hit.tableName} words={words} /></Link>
              ) : (
                <Link to={`/tables/${hit.tableId}`} search={{ field: hit.fieldName ?? "" } as never}>
                  {hit.tableName}<span className="faint"> · </span><span className="strong"><Marked text={hit.fieldName ?? ""} words={words} /></span>
                </Link>
              )}
              <span className="small">{marked(hit.dbName)}</span>
            </div>
            {(hit.comment ?? hit.description) && <div className="small tables-line"><Marked text={hit.comment ?? hit.description ?? ""} words={words} /></div>}
          </td>
          <td className="tables-line">{hit.matched.map((member) => <Tag key={member}>{t.members[member] ?? member}</Tag>)}</td>
          <td>{sourceOf(hit.clusterId) ?? <span className="faint">–</span>}</td>
        </>}
        empty={<Empty icon="search" title={t.nothingFound(keyword)}>{t.nothingFoundLead}</Empty>} />
    </>
  );
}

/** A text with the words that were looked for marked in it. */
function Marked({ text, words }: { text: string; words: readonly string[] }) {
  const lower = text.toLowerCase();
  const parts: React.ReactNode[] = [];
  let at = 0;
  // Where lower case is of another length the places do not fit; such a text is shown plain.
  while (at < text.length && lower.length === text.length) {
    const next = words
      .map((word) => ({ word, place: lower.indexOf(word, at) }))
      .filter(({ place }) => place >= 0)
      .sort((a, b) => a.place - b.place || b.word.length - a.word.length)[0];
    if (!next) break;
    parts.push(text.slice(at, next.place), <mark key={next.place}>{text.slice(next.place, next.place + next.word.length)}</mark>);
    at = next.place + next.word.length;
  }
  return <>{parts}{text.slice(at)}</>;
}
