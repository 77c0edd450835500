/** The tasks of a workflow: their graph, and the one that is selected beside it. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Schemas } from "../../api/client";
import { useMay } from "../../api/me";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button } from "../../ui/controls";
import { Graph } from "../../ui/graph";
import { useLeaving } from "../../ui/leaving";
import { useMounted } from "../../ui/mounted";
import { Empty } from "../../ui/page";
import { outdate, useDatasources, type WorkflowDetail } from "./data";
import type { Kept } from "./draft";
import { TaskPanel } from "./TaskPanel";
import { TEXTS } from "./texts";

export function TasksTab({ workflow }: { workflow: WorkflowDetail }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const client = useQueryClient();
  const { text, set } = useAddress();
  const sources = useDatasources().data;
  // What was typed and not saved, by task: another task may be looked at meanwhile.
  const [drafts, setDrafts] = useState<Record<string, Kept>>({});
  // What the latest saving of each task found.
  const [warnings, setWarnings] = useState<Record<string, readonly Schemas["TaskWarning"][]>>({});
  // A new task is saved: its form takes no more changes until that of the task it has become takes its place.
  const [isMade, setMade] = useState(false);
  const selected = text("task");
  const isNew = selected === "new" && may("createTask");
  const task = workflow.tasks.find((one) => String(one.id) === selected);
  const key = isNew ? "new" : task ? String(task.id) : null;
  // Asked when a saving ends: by then something else may be shown, or nothing of this.
  const shown = useRef(key);
  shown.current = key;
  const isMounted = useMounted();
  useEffect(() => {
    if (!isNew) setMade(false);
  }, [isNew]);

  const top = useRef<HTMLDivElement>(null);
  const opener = useRef<Element | null>(null);
  const select = (id: string | null) => {
    if (id !== null) opener.current = document.activeElement;
    set({ task: id ?? undefined }, true);
  };
  const hasPanel = key !== null;
  const hadPanel = useRef(hasPanel);
  useEffect(() => {
    const isClosed = hadPanel.current && !hasPanel;
    hadPanel.current = hasPanel;
    // The focus was in the panel. What opened it gets it, or the button where that is gone.
    if (!isClosed || document.activeElement !== document.body) return;
    const isThere = opener.current !== document.body && opener.current?.isConnected;
    const next = isThere ? opener.current : top.current?.querySelector("button");
    if (next instanceof HTMLElement) next.focus();
  }, [hasPanel]);

  const nodes = useMemo(
    () => workflow.tasks.map((one) => ({
      id: String(one.id),
      label: drafts[one.id] ? `${one.taskName} *` : one.taskName,
      kind: one.taskType,
      note: sources?.find((source) => source.id === one.datasourceId)?.name ?? one.unresolved?.datasource ?? "",
    })),
    [workflow.tasks, sources, drafts],
  );
  const edges = useMemo(
    () => workflow.edges.map((edge) => ({ source: String(edge.source), target: String(edge.target) })),
    [workflow.edges],
  );
  const keep = (at: string, draft: Kept | null) => setDrafts((before) => {
    const { [at]: old, ...others } = before;
    return draft === null ? others : { ...others, [at]: { ...old, ...draft } };
  });
  const mark = (at: string, marks: Pick<Kept, "isBusy" | "error">) => setDrafts((before) => {
    const draft = before[at];
    return draft ? { ...before, [at]: { ...draft, ...marks } } : before;
  });
  // It goes on while another task is looked at.
  const save = async (at: string, sent: Kept, send: () => Promise<Schemas["SavedTaskView"]>) => {
    mark(at, { isBusy: true, error: null });
    setWarnings((before) => ({ ...before, [at]: [] }));
    try {
      const saved = await send();
      const id = String(saved.id);
      // What was read of it before is not what it is now.
      client.removeQueries({ queryKey: ["tasks", saved.id], type: "inactive" });
      await outdate(client);
      // Only what was sent is saved.
      setDrafts((before) => {
        const { [at]: draft, ...others } = before;
        return draft && draft.form !== sent.form ? { ...others, [at]: { ...draft, isBusy: false } } : others;
      });
      setWarnings((before) => ({ ...before, [id]: saved.warnings }));
      if (at === "new" && shown.current === at && isMounted.current) {
        setMade(true);
        select(id);
      }
    } catch (reason) {
      mark(at, { isBusy: false, error: reason });
    }
  };
  const leaving = useLeaving(Object.keys(drafts).length > 0);
  return (
    <>
      <div className="row" ref={top}>
        <p className="small workflows-grow">{t.tasks.lead}</p>
        {may("createTask") && !isNew && <Button icon="plus" onPress={() => select("new")}>{t.tasks.add}</Button>}
      </div>
      <div className={hasPanel && workflow.tasks.length > 0 ? "workflows-tasks open" : "workflows-tasks"}>
        {workflow.tasks.length > 0
          ? <Graph label={t.tasks.graph} nodes={nodes} edges={edges} selected={task ? selected : null} onSelect={select} height={hasPanel ? "32rem" : "26rem"} />
          : !isNew && <Empty icon="workflow" title={t.tasks.none}>{may("createTask") ? t.tasks.noneLead : ""}</Empty>}
        {key !== null && (
          <TaskPanel key={key} workflow={workflow} task={isNew ? null : task!} draft={drafts[key] ?? null} warnings={warnings[key] ?? []}
            isBusy={(drafts[key]?.isBusy ?? false) || (isNew && isMade)} onDraft={(draft) => keep(key, draft)}
            onSave={(sent, send) => void save(key, sent, send)} onSelect={select} />
        )}
      </div>
      {leaving}
    </>
  );
}
