/** Imports a workflow from a file or from an engine: first what would come of it, then the import. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type DragEvent, useState } from "react";
import { FileTrigger } from "react-aria-components";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button, SearchField, Select, Tabs, TextField } from "../../ui/controls";
import { Editor } from "../../ui/editor";
import { ComboField } from "../../ui/fields";
import { useLeaving } from "../../ui/leaving";
import { marked } from "../../ui/marks";
import { Empty, Failure, Loaded, Page, Section, State } from "../../ui/page";
import { useSettled } from "../../ui/settled";
import { DataTable, Pager } from "../../ui/table";
import { useTyped } from "../../ui/typed";
import { outdate, useEngines } from "./data";
import { ImportPreview } from "./ImportPreview";
import { WorkflowLink } from "./parts";
import { TEXTS } from "./texts";

type Body = Schemas["ImportWorkflow"];

const PAGE = 20;

export function ImportPage() {
  const t = useTexts(TEXTS);
  const i = t.imports;
  const { text, set } = useAddress();
  const source = text("import") === "scheduler" ? "scheduler" : "json";
  return (
    <Page title={i.title} path={[{ to: "/workflows", label: t.workflows }]} lead={i.lead}>
      <Tabs label={i.title} value={source} onChange={(value) => set({ import: value }, true)} tabs={[
        { id: "json", title: i.json, content: <FromJson /> },
        { id: "scheduler", title: i.scheduler, content: <FromScheduler /> },
      ]} />
    </Page>
  );
}

/** The preview and the import of one source, and what they show. While it is imported the form takes no change. */
function useImport() {
  const i = useTexts(TEXTS).imports;
  const client = useQueryClient();
  const navigate = useNavigate();
  const preview = useMutation({
    mutationFn: (body: Body) => data<Schemas["ImportPreview"]>(api.POST("/api/v1/workflows/import/preview", { body })),
  });
  const commit = useMutation({
    mutationFn: (body: Body) => data<Schemas["ImportedView"]>(api.POST("/api/v1/workflows/import/commit", { body })),
    onSuccess: () => outdate(client),
  });
  const look = (body: Body) => {
    commit.reset();
    preview.mutate(body);
  };
  /** What was looked at, or is being looked at, is not what would be imported any more. */
  const clear = () => {
    preview.reset();
    commit.reset();
  };
  const { data: shown, variables: body } = preview;
  const outcome = (
    <>
      <Failure error={preview.error} />
      {shown && body && (
        <Section title={i.previewOf(shown.name)}>
          <ImportPreview preview={shown} />
          <Failure error={commit.error} />
          <div className="actions">
            <Button kind="primary" isDisabled={!shown.canImport} isBusy={commit.isPending}
              onPress={() => commit.mutate({ ...body, previewToken: shown.previewToken }, {
                // Only if the page is still shown by then. What was typed is imported.
                onSuccess: (made) => void navigate({ to: `/workflows/${made.workflowId}`, ignoreBlocker: true }),
              })}>
              {body.workflowId ? i.commitVersion : i.commit}
            </Button>
            {!shown.canImport && <span className="small">{i.cannot}</span>}
          </div>
        </Section>
      )}
    </>
  );
  return { look, clear, isLooking: preview.isPending, isLocked: commit.isPending, outcome };
}

function FromJson() {
  const i = useTexts(TEXTS).imports;
  const { look, clear, isLooking, isLocked, outcome } = useImport();
  const [text, setText] = useState("");
  const [target, setTarget] = useState(NEW);
  const [isOver, setOver] = useState(false);
  const leaving = useLeaving(text.trim() !== "" || target.name.trim() !== "", ["import"]);
  const take = async (file: File | undefined) => {
    if (!file || isLocked) return;
    setText(await file.text());
    clear();
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void take(event.dataTransfer.files[0]);
  };
  return (
    <>
      <Section title={i.definition} actions={
        <FileTrigger acceptedFileTypes={[".json", "application/json"]} onSelect={(files) => void take(files?.[0])}>
          <Button icon="upload" isDisabled={isLocked}>{i.chooseFile}</Button>
        </FileTrigger>
      }>
        <div className={isOver ? "workflows-drop over" : "workflows-drop"} onDrop={drop} onDragLeave={() => setOver(false)}
          onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}>
          <Editor label={i.text} language="json" value={text} isReadOnly={isLocked} onChange={(value) => {
            setText(value);
            clear();
          }} minHeight="10rem" />
        </div>
        <TargetFields target={target} isDisabled={isLocked} onChange={(next) => {
          setTarget(next);
          clear();
        }} />
        <div className="actions">
          {/* The server takes the text as it is, also that of an engine's own export. */}
          <Button kind="primary" isBusy={isLooking} isDisabled={isLocked || text.trim() === "" || !isWhole(target)}
            onPress={() => look({ source: "json", definition: text as never, ...members(target) })}>
            {i.preview}
          </Button>
        </div>
      </Section>
      {outcome}
      {leaving}
    </>
  );
}

function FromScheduler() {
  const t = useTexts(TEXTS);
  const i = t.imports;
  const { text, number, set } = useAddress();
  const { look, clear, isLooking, isLocked, outcome } = useImport();
  const engines = useEngines().data ?? [];
  const engine = text("engine") || "local";
  const keyword = text("keyword");
  const [typed, setTyped] = useTyped("keyword", ["page"]);
  const page = number("page", 1);
  const [target, setTarget] = useState(NEW);
  const leaving = useLeaving(target.name.trim() !== "", ["import"]);
  const query = useQuery({
    queryKey: ["workflows", "importable", engine, keyword, page],
    queryFn: () => data<Schemas["PageOfImportableWorkflow"]>(api.GET("/api/v1/workflows/import/scheduler", {
      params: { query: { schedulerEngine: engine, pageNum: page, pageSize: PAGE, ...(keyword ? { keyword } : {}) } },
    })),
    placeholderData: (before) => before,
  });
  return (
    <>
      <Section title={i.inEngine}>
        <div className="filters">
          <Select label={t.engine} value={engine} isDisabled={isLocked} choices={engines.map((one) => ({ value: one.name, label: one.name }))}
            onChange={(value) => {
            set({ engine: value, page: undefined }, true);
            clear();
          }} />
          <SearchField label={t.searchByName} value={typed} onChange={setTyped} />
        </div>
        <TargetFields target={target} isFromEngine isDisabled={isLocked} onChange={(next) => {
          setTarget(next);
          clear();
        }} />
        <Loaded query={query}>
          {(found) => (
            <>
              <DataTable<Schemas["ImportableWorkflow"]> label={i.inEngine} rows={found.records} isPage keyOf={(one) => `${one.projectCode} ${one.workflowCode}`}
                empty={<Empty icon="workflow" title={i.nothingInEngine} />} columns={[
                  { header: t.name, id: "name", cell: ({ row }) => <span className="strong">{marked(row.original.workflowName)}</span> },
                  { header: i.code, id: "code", cell: ({ row }) => <code>{row.original.workflowCode}</code> },
                  { header: i.project, id: "project", cell: ({ row }) => row.original.projectCode ?? "–" },
                  { header: i.release, id: "release", cell: ({ row }) => <State value={row.original.releaseState.toLowerCase()} /> },
                  {
                    header: i.imported, id: "imported",
                    cell: ({ row: { original: one } }) => (one.imported
                      ? one.workflowId === null ? i.yes : <WorkflowLink id={one.workflowId}>{i.yes}</WorkflowLink>
                      : i.no),
                  },
                  {
                    header: "", id: "actions",
                    cell: ({ row: { original: one } }) => (
                      <Button isBusy={isLooking} isDisabled={isLocked || !isWhole(target)} onPress={() => look({
                        source: "scheduler", schedulerEngine: one.schedulerEngine, projectCode: one.projectCode,
                        workflowCode: one.workflowCode, ...members(target),
                      })}>{i.preview}</Button>
                    ),
                  },
                ]} />
              <Pager page={page} pageSize={PAGE} total={found.total}
                onChange={(next) => set({ page: next === 1 ? undefined : next }, true)} />
            </>
          )}
        </Loaded>
      </Section>
      {outcome}
      {leaving}
    </>
  );
}

/** What the definition becomes. */
interface Target {
  /** A new workflow, with the name and engine; otherwise the next version of one. */
  isNew: boolean;
  name: string;
  workflowId: number | null;
  engine: string;
}

const NEW: Target = { isNew: true, name: "", workflowId: null, engine: "" };

/** For a version, its workflow has been chosen. */
function isWhole({ isNew, workflowId }: Target): boolean {
  return isNew || workflowId !== null;
}

/** Only of the fields that are shown. */
function members({ isNew, name, workflowId, engine }: Target): Partial<Body> {
  if (!isNew) return { workflowId };
  return { ...(name.trim() ? { name: name.trim() } : {}), ...(engine ? { schedulerEngine: engine } : {}) };
}

function TargetFields({ target, isFromEngine, isDisabled, onChange }: {
  target: Target; isFromEngine?: boolean; isDisabled: boolean; onChange: (target: Target) => void;
}) {
  const t = useTexts(TEXTS);
  const i = t.imports;
  const engines = useEngines().data ?? [];
  const [typed, setTyped] = useState("");
  const { isNew } = target;
  const keyword = useSettled(typed, 300);
  const offered = useQuery({
    queryKey: ["workflows", "choices", keyword],
    queryFn: () => data<Schemas["PageOfWorkflow"]>(api.GET("/api/v1/workflows", {
      params: { query: { pageSize: 50, ...(keyword ? { keyword } : {}) } },
    })),
    enabled: !isNew,
    placeholderData: (before) => before,
  });
  const choices = (offered.data?.records ?? []).map((one) => ({ value: String(one.id), label: one.name }));
  return (
    <div className="workflows-form">
      <Select label={i.becomes} value={isNew ? "new" : "version"} isDisabled={isDisabled}
        choices={[{ value: "new", label: i.newWorkflow }, { value: "version", label: i.newVersion }]}
        onChange={(value) => onChange({ ...target, isNew: value === "new" })} />
      {isNew
        ? <TextField label={t.newName} value={target.name} isDisabled={isDisabled} onChange={(name) => onChange({ ...target, name })} hint={i.nameHint} />
        : <ComboField label={t.workflow} value={typed} choices={choices} isDisabled={isDisabled} hint={target.workflowId === null ? i.chooseWorkflow : undefined} onChange={(value) => {
          setTyped(value);
          onChange({ ...target, workflowId: null });
        }} onPick={(value) => {
          setTyped(choices.find((one) => one.value === value)?.label ?? value);
          onChange({ ...target, workflowId: Number(value) });
        }} />}
      {isNew && !isFromEngine && engines.length > 1 && (
        <Select label={t.engine} value={target.engine || "file"} isDisabled={isDisabled}
          onChange={(value) => onChange({ ...target, engine: value === "file" ? "" : value })}
          choices={[{ value: "file", label: i.engineOfFile }, ...engines.map((one) => ({ value: one.name, label: one.name }))]} />
      )}
    </div>
  );
}
