import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useMay } from "../../api/me";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button, Checkbox, Menu, type MenuEntry, SearchField, Select } from "../../ui/controls";
import { marked } from "../../ui/marks";
import { Empty, Failure, Loaded, Page, State, Time } from "../../ui/page";
import { type Columns, DataTable, Pager } from "../../ui/table";
import { useTyped } from "../../ui/typed";
import { Batch } from "./Batch";
import { CopyDialog, CreateDialog } from "./dialogs";
import { exportWorkflow, useEngines, type Workflow } from "./data";
import { ImportPage } from "./ImportPage";
import { PublishState, RunLink, WorkflowLink } from "./parts";
import { PendingRemovals } from "./PendingRemovals";
import { TEXTS } from "./texts";
import "./style.css";

/** The server does not filter by engine: that needs all workflows, so that a page has as many as it may. */
const PAGE = 100;
const ALL = 500;

export default function WorkflowsPage() {
  const { text } = useAddress();
  const may = useMay();
  return text("import") !== "" && may("commitWorkflowImport") ? <ImportPage /> : <WorkflowList />;
}

function WorkflowList() {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const may = useMay();
  const { text, number, set } = useAddress();
  const engines = useEngines().data ?? [];
  const [selected, setSelected] = useState<ReadonlySet<number>>(new Set());
  const [isCreating, setCreating] = useState(false);
  const [copied, setCopied] = useState<Workflow | null>(null);
  const [error, setError] = useState<unknown>(null);

  const keyword = text("keyword");
  const [typed, setTyped] = useTyped("keyword", ["page"]);
  const status = text("status");
  const publishing = text("publishing");
  const engine = text("engine");
  const isNarrowed = engine !== "";
  const pageNum = isNarrowed ? 1 : number("page", 1);
  const pageSize = isNarrowed ? ALL : PAGE;
  const query = useQuery({
    queryKey: ["workflows", "list", { keyword, status, publishing, pageNum, pageSize }],
    queryFn: () => data<Schemas["PageOfWorkflow"]>(api.GET("/api/v1/workflows", {
      params: {
        query: {
          pageNum, pageSize, ...(keyword ? { keyword } : {}), ...(status ? { status: status as Workflow["status"] } : {}),
          ...(publishing ? { publishStatus: publishing as Workflow["publishStatus"] } : {}),
        },
      },
    })),
    placeholderData: (before) => before,
    refetchInterval: 15_000,
  });
  const rows = useMemo(
    () => (query.data?.records ?? []).filter((one) => engine === "" || one.schedulerEngine === engine), [query.data, engine],
  );
  const chosen = rows.filter((row) => selected.has(row.id));
  const filter = (change: Record<string, string>) => set({ ...change, page: undefined }, true);
  const mayBatch = (["bringSchedulesOnline", "takeSchedulesOffline", "publishWorkflows", "exportWorkflows"] as const).some((one) => may(one));

  const toggle = (id: number, isOn: boolean) => {
    const next = new Set(selected);
    if (isOn) next.add(id);
    else next.delete(id);
    setSelected(next);
  };
  const columns: Columns<Workflow> = [
    ...(mayBatch ? [{
      id: "select",
      enableSorting: false,
      header: () => (
        <Checkbox label={<span className="hidden">{t.selectAll}</span>} isSelected={rows.length > 0 && chosen.length === rows.length}
          onChange={(isOn) => setSelected(new Set(isOn ? rows.map((row) => row.id) : []))} />
      ),
      cell: ({ row: { original: one } }: { row: { original: Workflow } }) => (
        <Checkbox label={<span className="hidden">{t.select(one.name)}</span>} isSelected={selected.has(one.id)}
          onChange={(isOn) => toggle(one.id, isOn)} />
      ),
    }] : []),
    {
      header: t.name, accessorFn: (one) => one.name,
      cell: ({ row: { original: one } }) => (
        <>
          <span className="strong workflows-name"><WorkflowLink id={one.id}>{one.name}</WorkflowLink></span>
          {one.description && <p className="small workflows-about">{marked(one.description)}</p>}
        </>
      ),
    },
    { header: t.status, accessorFn: (one) => one.status, cell: ({ row }) => <State value={row.original.status} /> },
    {
      header: t.publishing, accessorFn: (one) => one.publishStatus,
      cell: ({ row: { original: one } }) => (
        <>
          <PublishState value={one.publishStatus} />
          {one.engineState !== "in_sync" && <p className="small">{t.engineStates[one.engineState]}</p>}
        </>
      ),
    },
    { header: t.engine, accessorFn: (one) => one.schedulerEngine },
    {
      header: t.schedule, accessorFn: (one) => one.schedule?.crontab ?? "",
      cell: ({ row: { original: one } }) => (one.schedule
        ? <><code className="workflows-cron">{one.schedule.crontab}</code><p className="small">{one.schedule.timezone}</p></>
        : <span className="faint">–</span>),
    },
    {
      header: t.nextRun, accessorFn: nextRun,
      cell: ({ row: { original: one } }) => <Time value={nextRun(one) || null} />,
    },
    {
      header: t.latestRun, accessorFn: (one) => one.latestExecution?.startTime ?? "",
      cell: ({ row: { original: { latestExecution: run } } }) => (run
        ? (
          <>
            <State value={run.status} />
            <p className="small">
              <RunLink workflowId={run.workflowId} instanceId={run.instanceId}><Time value={run.startTime ?? run.createdAt} /></RunLink>
            </p>
          </>
        )
        : <span className="faint">{t.neverRun}</span>),
    },
    {
      header: "", id: "actions", enableSorting: false,
      cell: ({ row: { original: one } }) => <Menu label={t.actionsOf(one.name)} entries={entries(one)} />,
    },
  ];
  const entries = (one: Workflow): MenuEntry[] => [
    ...(may("copyWorkflow") ? [{ id: "copy", label: t.copy, icon: "copy" as const, onAction: () => setCopied(one) }] : []),
    ...(may("exportWorkflow") ? [{
      id: "export", label: t.export, icon: "download" as const,
      onAction: () => {
        setError(null);
        exportWorkflow(one.id).catch(setError);
      },
    }] : []),
  ];
  const hasFilters = keyword !== "" || status !== "" || publishing !== "" || isNarrowed;
  const total = query.data?.total ?? 0;
  return (
    <Page title={t.workflows} lead={t.lead} actions={
      <>
        {may("commitWorkflowImport") && <Button icon="upload" onPress={() => set({ import: "json" }, true)}>{t.import}</Button>}
        {may("createWorkflow") && <Button kind="primary" icon="plus" onPress={() => setCreating(true)}>{t.create}</Button>}
      </>
    }>
      <div className="filters">
        <SearchField label={t.searchByName} value={typed} onChange={setTyped} />
        <Select label={t.status} value={status || "any"} onChange={(value) => filter({ status: value === "any" ? "" : value })}
          choices={[{ value: "any", label: t.any }, ...(["online", "offline", "draft"] as const).map((value) => ({ value, label: t.statuses[value] }))]} />
        <Select label={t.publishing} value={publishing || "any"} onChange={(value) => filter({ publishing: value === "any" ? "" : value })}
          choices={[{ value: "any", label: t.any }, ...Object.entries(t.publishStates).map(([value, label]) => ({ value, label }))]} />
        {engines.length > 1 && (
          <Select label={t.engine} value={engine || "any"} onChange={(value) => filter({ engine: value === "any" ? "" : value })}
            choices={[{ value: "any", label: t.any }, ...engines.map(({ name }) => ({ value: name, label: name }))]} />
        )}
      </div>
      {isNarrowed && total > ALL && <p className="small">{t.filterOfFirst(format.number(ALL), format.number(total))}</p>}
      <Failure error={error} />
      <Batch workflows={chosen} onDone={() => setSelected(new Set())} />
      <Loaded query={query}>
        {() => (
          <DataTable label={t.workflows} rows={rows} columns={columns} isPage={total > pageSize} keyOf={(one) => String(one.id)} empty={
            hasFilters
              ? (
                <Empty icon="workflow" title={t.noMatch}>
                  <Button onPress={() => set({ keyword: "", status: "", publishing: "", engine: "" }, true)}>{t.clearFilters}</Button>
                </Empty>
              )
              : <Empty icon="workflow" title={t.none}>{t.noneLead}</Empty>
          } />
        )}
      </Loaded>
      {!isNarrowed && (
        <Pager page={pageNum} pageSize={PAGE} total={total}
          onChange={(page) => set({ page: page === 1 ? undefined : page }, true)} />
      )}
      <PendingRemovals />
      {isCreating && <CreateDialog onClose={() => setCreating(false)} />}
      {copied && <CopyDialog workflow={copied} onClose={() => setCopied(null)} />}
    </Page>
  );
}

/** "" for a workflow whose timer is off. */
function nextRun(one: Workflow): string {
  return (one.status === "online" && (one.engineSchedule ?? one.schedule)?.nextFireTimes[0]) || "";
}
