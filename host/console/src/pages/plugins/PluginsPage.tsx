/** All plugins with their figures, and the upload of a component. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMay } from "../../api/me";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { SearchField, Select } from "../../ui/controls";
import { Empty, Loaded, Page, State } from "../../ui/page";
import { type Columns, DataTable } from "../../ui/table";
import { useTyped } from "../../ui/typed";
import { Own } from "./Own";
import { addressOf, type Plugin, pluginsQuery } from "./plugins";
import { TEXTS } from "./texts";
import { Upload } from "./Upload";
import "./style.css";

export default function PluginsPage() {
  const t = useTexts(TEXTS);
  const may = useMay();
  const plugins = useQuery(pluginsQuery);
  return (
    <Page title={t.title} lead={t.lead}>
      {may("stagePlugin") && <Upload />}
      <Loaded query={plugins}>{(all) => <Plugins all={all} />}</Loaded>
    </Page>
  );
}

function Plugins({ all }: { all: Plugin[] }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const { text, set } = useAddress();
  const family = text("family");
  const [keyword, setKeyword] = useTyped("q");
  const families = [...new Set(all.map((plugin) => plugin.family))].sort();
  const wanted = keyword.toLowerCase();
  const rows = all.filter((plugin) => (family === "" || plugin.family === family)
    && `${plugin.name} ${plugin.title ?? ""}`.toLowerCase().includes(wanted));
  const number = (value: number) => <span className="plugins-number">{format.number(value)}</span>;
  const milliseconds = (value: number | null) =>
    (value === null ? <span className="faint">–</span> : number(Number(value.toPrecision(3))));
  const columns: Columns<Plugin> = [
    {
      header: t.name, accessorFn: (plugin) => plugin.name,
      cell: ({ row: { original: plugin } }) => (
        <div>
          <Link to="/plugins/$name" params={{ name: addressOf(plugin, all) }} className="strong">{plugin.name}</Link>
          <div className="small"><Own text={plugin.title} /></div>
        </div>
      ),
    },
    { header: t.family, accessorFn: (plugin) => t.families[plugin.family] ?? plugin.family },
    { header: t.version, accessorFn: (plugin) => plugin.version ?? "", cell: ({ row }) => row.original.version ?? <span className="faint">–</span> },
    {
      header: t.state, accessorFn: (plugin) => plugin.state,
      cell: ({ row: { original: plugin } }) => (
        <div><State value={plugin.state} />{plugin.reason && <div className="small">{plugin.reason}</div>}</div>
      ),
    },
    { header: t.calls, accessorFn: (plugin) => plugin.calls, cell: ({ row }) => number(row.original.calls) },
    {
      header: t.errors, accessorFn: (plugin) => plugin.errors,
      cell: ({ row: { original: { errors } } }) => (errors > 0 ? <span className="plugins-errors">{number(errors)}</span> : number(errors)),
    },
    { header: t.p50, accessorFn: (plugin) => plugin.p50Ms ?? -1, cell: ({ row }) => milliseconds(row.original.p50Ms) },
    { header: t.p99, accessorFn: (plugin) => plugin.p99Ms ?? -1, cell: ({ row }) => milliseconds(row.original.p99Ms) },
  ];
  if (all.length === 0) return <Empty icon="plugin" title={t.empty} />;
  return (
    <>
      <div className="filters">
        <SearchField label={t.search} value={keyword} onChange={setKeyword} />
        <Select label={t.family} isLabelHidden value={family} onChange={(next) => set({ family: next }, true)}
          choices={[{ value: "", label: t.any }, ...families.map((one) => ({ value: one, label: t.families[one] ?? one }))]} />
      </div>
      <div className="plugins-wide">
        <DataTable label={t.title} rows={rows} columns={columns} keyOf={(plugin) => `${plugin.family}:${plugin.name}`}
          empty={<Empty icon="plugin" title={t.noFit} />} />
      </div>
    </>
  );
}
