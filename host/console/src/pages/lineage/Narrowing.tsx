/** Where the walk starts and how far it goes, and what is filtered. */
import { useQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { datasourcesQuery, isBuiltIn } from "../../api/datasources";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button, Checkbox, Select, TextField } from "../../ui/controls";
import { useTyped } from "../../ui/typed";
import { graphQuery, type LineageNode } from "./data";
import { TablePicker } from "./TablePicker";
import { TEXTS } from "./texts";
import { DEPTH_DEFAULT, type Direction, FILTERS, type View } from "./view";

const DEPTHS = [1, 2, 3, 4, 5, 10];
/** A change of what is shown leaves the selection of the old view behind. */
const RESET = { selected: undefined, edge: undefined, focus: undefined, expand: undefined, list: undefined };

export function Start({ view }: { view: View }) {
  const t = useTexts(TEXTS);
  const { set } = useAddress();
  const depth = view.depth === null ? "all" : String(view.depth);
  const depths = [...new Set([...DEPTHS, ...(view.depth === null ? [] : [view.depth])])].sort((a, b) => a - b);
  return (
    <div className="filters">
      <TablePicker onPick={(table) => set({ ...RESET, table }, true)} />
      {view.table !== null && (
        <>
          <Select<Direction> label={t.direction} value={view.direction} onChange={(direction) => set({ direction: direction === "both" ? undefined : direction }, true)}
            choices={[{ value: "both", label: t.both }, { value: "upstream", label: t.upstream }, { value: "downstream", label: t.downstream }]} />
          <Select label={t.depth} value={depth} onChange={(next) => set({ depth: next === String(DEPTH_DEFAULT) ? undefined : next === "all" ? next : Number(next) }, true)}
            choices={[...depths.map((steps) => ({ value: String(steps), label: t.steps(steps) })), { value: "all", label: t.allSteps }]} />
          <Button icon="close" kind="quiet" onPress={() => set({ ...RESET, table: undefined, direction: undefined, depth: undefined }, true)}>
            {t.wholeGraph}
          </Button>
        </>
      )}
    </div>
  );
}

export function Filters({ view, nodes }: { view: View; nodes: readonly LineageNode[] }) {
  const t = useTexts(TEXTS);
  const { set } = useAddress();
  const [keyword, setKeyword] = useTyped("q");
  const sources = useQuery(datasourcesQuery).data ?? [];
  const choices = useChoices(view, nodes);
  const select = (name: "layer" | "business" | "domain" | "database", label: string, any: string) => {
    const value = view[name];
    const all = [...new Set([...choices[name], ...(value === "" ? [] : [value])])].sort();
    if (all.length === 0) return null;
    return (
      <Select label={label} isLabelHidden value={value} onChange={(next) => set({ [name]: next, selected: undefined, edge: undefined }, true)}
        choices={[{ value: "", label: any }, ...all.map((one) => ({ value: one, label: one }))]} />
    );
  };
  // The server's own data source has no tables in the lineage.
  const named = sources.filter((source) => !isBuiltIn(source));
  return (
    <>
      <div className="filters">
        {(named.length > 1 || view.source !== "") && (
          <Select label={t.source} isLabelHidden value={view.source} onChange={(source) => set({ source: source === "" ? undefined : Number(source) }, true)}
            choices={[{ value: "", label: t.anySource }, ...named.map((source) => ({ value: String(source.id), label: source.name }))]} />
        )}
        {select("layer", t.layer, t.anyLayer)}
        {select("business", t.business, t.anyBusiness)}
        {select("domain", t.domain, t.anyDomain)}
        {choices.database.size > 1 || view.database !== "" ? select("database", t.database, t.anyDatabase) : null}
        <TextField label={t.keyword} isLabelHidden placeholder={t.keyword} value={keyword} onChange={setKeyword} />
        <Checkbox label={t.deprecated} isSelected={view.withDeprecated} onChange={(on) => set({ deprecated: on || undefined }, true)} />
        {view.table === null && !view.isFiltered && <Checkbox label={t.alone} isSelected={view.withAlone} onChange={(on) => set({ alone: on || undefined }, true)} />}
        {view.isFiltered && (
          <Button kind="quiet" icon="close" onPress={() => {
            setKeyword("");
            set(Object.fromEntries(FILTERS.map((name) => [name, undefined])), true);
          }}>{t.clear}</Button>
        )}
      </div>
      {view.isFiltered && <p className="small">{t.filteredNote}</p>}
    </>
  );
}

/** The values that tables have. A filtered view shows but some, so the whole is asked for then. */
function useChoices(view: View, nodes: readonly LineageNode[]) {
  const whole = useQuery({ ...graphQuery({}), enabled: view.isFiltered, staleTime: 300_000 });
  const seen = useRef({ layer: new Set<string>(), business: new Set<string>(), domain: new Set<string>(), database: new Set<string>() });
  return useMemo(() => {
    const all = seen.current;
    for (const node of [...nodes, ...(whole.data?.nodes ?? [])]) {
      if (node.layer) all.layer.add(node.layer);
      if (node.businessDomain) all.business.add(node.businessDomain);
      if (node.dataDomain) all.domain.add(node.dataDomain);
      all.database.add(node.dbName);
    }
    return { ...all };
  }, [nodes, whole.data]);
}
