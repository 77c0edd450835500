/** The engines: a list, and the one that is selected with its settings, features and checks. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useMay } from "../../api/me";
import { useChange } from "../../api/query";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Confirm } from "../../ui/confirm";
import { Button, Menu } from "../../ui/controls";
import { marked } from "../../ui/marks";
import { Empty, Loaded, Page, State, Tag, Time } from "../../ui/page";
import { type Columns, DataTable } from "../../ui/table";
import { EngineDetails } from "./EngineDetails";
import { EngineForm } from "./EngineForm";
import { Health } from "./Health";
import { LOCAL } from "./local";
import { type Test, useStartTest, useTests } from "./tests";
import { TEXTS } from "./texts";
import "./style.css";

type Engine = Schemas["Engine"];

/** No event says that the server has looked at an engine. */
const LOOK_MS = 30_000;

export default function EnginesPage() {
  const t = useTexts(TEXTS);
  const may = useMay();
  const engines = useQuery({
    queryKey: ["engines"],
    queryFn: () => data<Engine[]>(api.GET("/api/v1/engines")),
    refetchInterval: LOOK_MS,
  });
  const { text, set } = useAddress();
  const startTest = useStartTest();
  const all = engines.data ?? [];
  const edited = all.find((engine) => engine.name === text("edit"));
  return (
    <Page title={t.title} lead={t.lead} actions={
      <>
        {may("testEngine") && all.length > 1 && (
          <Button icon="check" onPress={() => all.forEach((engine) => void startTest(engine.name))}>{t.testAll}</Button>
        )}
        {may("createEngine") && <Button kind="primary" icon="plus" onPress={() => set({ add: true, edit: undefined }, true)}>{t.add}</Button>}
      </>
    }>
      <Loaded query={engines}>{(list) => <Engines engines={list} />}</Loaded>
      {may("createEngine") && text("add") !== "" && (
        <EngineForm onClose={(name) => set({ add: undefined, ...(name ? { engine: name } : {}) })} />
      )}
      {may("updateEngine") && edited && edited.name !== LOCAL && (
        <EngineForm key={edited.name} engine={edited} onClose={() => set({ edit: undefined })} />
      )}
    </Page>
  );
}

function Engines({ engines }: { engines: Engine[] }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const { text, set } = useAddress();
  const tests = useTests(engines.map((engine) => engine.name));
  const startTest = useStartTest();
  const [deleted, setDeleted] = useState<string | null>(null);
  const remove = useChange(
    (name: string) => data(api.DELETE("/api/v1/engines/{name}", { params: { path: { name } } })),
    [["engines"]],
  );
  const rows = engines.map((engine, place) => ({ engine, test: tests[place]! }));
  type Row = (typeof rows)[number];
  const selected = rows.find((row) => row.engine.name === text("engine")) ?? (rows.length === 1 ? rows[0] : undefined);
  const columns: Columns<Row> = [
    {
      header: t.name, accessorFn: (row) => row.engine.name,
      cell: ({ row: { original: { engine } } }) => (
        <span className="row">
          <button type="button" className="engines-name" aria-pressed={engine === selected?.engine} onClick={() => set({ engine: engine.name }, true)}>
            {marked(engine.name)}
          </button>
          {engine.name === LOCAL && <Tag>{t.builtIn}</Tag>}
        </span>
      ),
    },
    {
      header: t.plugin, accessorFn: (row) => row.engine.plugin,
      cell: ({ row: { original: { engine } } }) => <Link to="/plugins/$name" params={{ name: engine.plugin }}>{engine.plugin}</Link>,
    },
    { header: t.version, accessorFn: (row) => row.engine.version ?? "", cell: ({ row }) => row.original.engine.version ?? <span className="faint">{t.notActive}</span> },
    { header: t.state, accessorFn: (row) => row.engine.state, cell: ({ row }) => <State value={row.original.engine.state} /> },
    { header: t.health, accessorFn: (row) => row.engine.lastLook?.ok ?? "", cell: ({ row }) => <Health look={row.original.engine.lastLook} /> },
    ...(may("testEngine")
      ? [{ header: t.lastTest, accessorFn: (row: Row) => row.test.at ?? "", cell: ({ row }: { row: { original: Row } }) => <TestState test={row.original.test} /> }]
      : []),
    { header: t.features, accessorFn: (row) => row.engine.features.length, cell: ({ row }) => row.original.engine.features.length },
    {
      header: "", id: "actions", enableSorting: false,
      cell: ({ row: { original: { engine, test } } }) => (
        <div className="row engines-actions">
          {may("testEngine") && (
            <Button isBusy={test.isBusy} onPress={() => {
              set({ engine: engine.name }, true);
              void startTest(engine.name);
            }}>{t.test}</Button>
          )}
          {engine.name !== LOCAL && (
            <Menu label={t.actions(engine.name)} entries={[
              ...(may("updateEngine") ? [{ id: "edit", label: t.edit, icon: "edit" as const, onAction: () => set({ edit: engine.name }, true) }] : []),
              ...(may("deleteEngine")
                ? [{ id: "delete", label: t.remove, icon: "bin" as const, isDanger: true, onAction: () => setDeleted(engine.name) }]
                : []),
            ]} />
          )}
        </div>
      ),
    },
  ];
  return (
    <>
      <div className="engines-wide">
        <DataTable label={t.title} rows={rows} columns={columns} keyOf={(row) => row.engine.name} empty={<Empty icon="engine" title={t.empty} />} />
      </div>
      {selected && <EngineDetails engine={selected.engine} test={selected.test} />}
      <Confirm title={t.deleteTitle(deleted ?? "")} action={t.remove} isDanger isOpen={deleted !== null} onClose={() => setDeleted(null)}
        onConfirm={() => remove.mutateAsync(deleted ?? "")}>
        <p>{t.deleteText}</p>
      </Confirm>
    </>
  );
}

export function TestState({ test }: { test: Test }) {
  const t = useTexts(TEXTS);
  if (test.isBusy) return <Tag tone="busy">{t.testing}</Tag>;
  if (test.at === null) return <span className="faint">{t.notTested}</span>;
  const [tone, said] = test.error ? (["bad", t.unreached] as const) : test.result?.ok ? (["good", t.passed] as const) : (["bad", t.failed] as const);
  return <span className="row"><Tag tone={tone}>{said}</Tag> <span className="small"><Time value={test.at} isAgo /></span></span>;
}
