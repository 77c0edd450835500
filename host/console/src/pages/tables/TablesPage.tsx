/** The catalogue: all tables, narrowed by words and facets, and several of them changed at once. */
import { useCallback, useMemo, useState } from "react";
import { Link } from "@tanstack/react-router";
import { api, data } from "../../api/client";
import { useMay } from "../../api/me";
import { queries } from "../../api/query";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button, SearchField, Tabs } from "../../ui/controls";
import { Empty, Failure, Page } from "../../ui/page";
import { EditMany } from "./EditMany";
import { useTyped } from "../../ui/typed";
import { FACETS, useFilters } from "./filters";
import { Facets } from "./Facets";
import { NewTable } from "./NewTable";
import { SearchHits } from "./SearchHits";
import "./style.css";
import { TableList } from "./TableList";
import { TEXTS } from "./texts";

/** As many tables are changed by one request. */
const CHOSEN_MAX = 1000;
const NONE: ReadonlySet<number> = new Set();

export default function TablesPage() {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const may = useMay();
  const { text, set } = useAddress();
  const [typed, setTyped] = useTyped("q");
  const { filters, chosen: facets, count } = useFilters();
  const key = JSON.stringify(filters);
  // The list loads by what the filters say, not by which object says it.
  const steady = useMemo(() => filters, [key]);
  const [total, setTotal] = useState(0);
  const [chosen, setChosen] = useState(NONE);
  // Those chosen when the dialog was opened: it keeps them after the choice is given up.
  const [edited, setEdited] = useState<number[] | null>(null);
  const [areFacetsOpen, setFacetsOpen] = useState(false);
  const [error, setError] = useState<unknown>(null);

  // The search knows the data source as its only filter; with another one the list of tables answers.
  const narrowsTables = count > (facets.source === "" ? 0 : 1);
  const view = filters.keyword === undefined ? "tables" : text("view") || (narrowsTables ? "tables" : "hits");
  const choose = useCallback((id: number, isChosen: boolean) => {
    setChosen((before) => {
      const next = new Set(before);
      if (isChosen) next.add(id);
      else next.delete(id);
      return next;
    });
  }, []);
  const chooseAll = async () => {
    setError(null);
    try {
      const ids = new Set<number>();
      for (let pageNum = 1; ids.size < Math.min(total, CHOSEN_MAX) && pageNum <= CHOSEN_MAX / 500; pageNum += 1) {
        const query = { ...steady, pageNum, pageSize: 500 };
        const page = await queries.fetchQuery({
          queryKey: ["tables", "all", query],
          queryFn: () => data(api.GET("/api/v1/tables", { params: { query } })),
        });
        page.records.forEach((table) => ids.add(table.id));
      }
      setChosen(ids);
    } catch (reason) {
      setError(reason);
    }
  };
  const clear = () => set(Object.fromEntries(["q", "view", ...Object.keys(FACETS)].map((name) => [name, undefined])), true);

  const list = (
    <TableList filters={steady} isNarrowed={filters.keyword !== undefined || count > 0} onTotal={setTotal}
      {...(may("updateTables") ? { chosen, onChoose: choose } : {})}
      empty={(
        <Empty title={t.noTables}>
          <p>{t.noTablesLead} <Link to="/datasources">{t.toDatasources}</Link></p>
        </Empty>
      )} />
  );
  const hits = filters.keyword !== undefined && (
    <SearchHits keyword={filters.keyword} {...(filters.clusterId === undefined ? {} : { clusterId: filters.clusterId })} onTotal={setTotal} />
  );
  return (
    <Page title={t.title} lead={t.lead}
      actions={may("createTable") && <Button kind="primary" icon="plus" onPress={() => set({ new: true }, true)}>{t.newTable}</Button>}>
      <div className="filters">
        <SearchField label={t.search} value={typed} onChange={setTyped} placeholder={t.searchPlaceholder} />
        {view === "tables" && (
          <span className="tables-filters">
            <Button icon="settings" aria-expanded={areFacetsOpen} onPress={() => setFacetsOpen(!areFacetsOpen)}>{t.filters(count)}</Button>
          </span>
        )}
        {(count > 0 || filters.keyword !== undefined) && <Button kind="quiet" icon="close" onPress={() => { setTyped(""); clear(); }}>{t.clear}</Button>}
      </div>
      <div className="withside tables-withside">
        {/* They count the list of tables only. */}
        {view === "tables" && (
          <aside className={areFacetsOpen ? "tables-facets open" : "tables-facets"} aria-label={t.filters(count)}>
            <Facets filters={steady} chosen={facets} />
          </aside>
        )}
        <div className="stack">
          <div className="row tables-bar" aria-live="polite">
            {chosen.size === 0 ? <span className="small">{view === "hits" ? t.hitCount(format.number(total)) : t.tableCount(format.number(total))}</span> : (
              <>
                <span className="strong">{t.chosen(format.number(chosen.size))}</span>
                <Button kind="primary" icon="edit" onPress={() => setEdited([...chosen])} isDisabled={chosen.size > CHOSEN_MAX}>{t.change}</Button>
                {chosen.size < Math.min(total, CHOSEN_MAX) && view === "tables" && (
                  <Button kind="quiet" onPress={() => void chooseAll()}>
                    {total > CHOSEN_MAX ? t.chooseFirst(format.number(CHOSEN_MAX)) : t.chooseAll(format.number(total))}
                  </Button>
                )}
                <Button kind="quiet" onPress={() => setChosen(NONE)}>{t.chooseNone}</Button>
              </>
            )}
          </div>
          <Failure error={error} />
          {hits ? (
            <Tabs label={t.search} value={view} onChange={(next) => set({ view: next }, true)} tabs={[
              { id: "hits", title: t.everywhere, content: hits },
              { id: "tables", title: t.tableNames, content: list },
            ]} />
          ) : list}
        </div>
      </div>
      {edited && <EditMany ids={edited} onClose={() => setEdited(null)} onDone={() => setChosen(NONE)} />}
      {text("new") !== "" && may("createTable") && <NewTable onClose={() => set({ new: undefined })} source={facets.source} />}
    </Page>
  );
}
