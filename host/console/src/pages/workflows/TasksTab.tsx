/** The tasks of a workflow: their graph, and the one that is selected beside it. */
import { useMemo, useState } from "react";
import type { Schemas } from "../../api/client";
import { useMay } from "../../api/me";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button } from "../../ui/controls";
import { Graph } from "../../ui/graph";
import { useLeaving } from "../../ui/leaving";
import { Empty } from "../../ui/page";
import { useDatasources, type WorkflowDetail } from "./data";
import type { Kept } from "./draft";
import { TaskPanel } from "./TaskPanel";
import { TEXTS } from "./texts";

export function TasksTab({ workflow }: { workflow: WorkflowDetail }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const { text, set } = useAddress();
  const sources = useDatasources().data;
  // What was typed and not saved, by task: another task may be looked at meanwhile.
  const [drafts, setDrafts] = useState<Record<string, Kept>>({});
  // Kept here: the form of a new task gives way to that of the task it has become.
  const [saved, setSaved] = useState<Schemas["SavedTaskView"] | null>(null);
  const selected = text("task");
  const isNew = selected === "new" && may("createTask");
  const task = workflow.tasks.find((one) => String(one.id) === selected);
  const select = (id: string | null) => {
    setSaved(null);
    set({ task: id ?? undefined }, true);
  };

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
  const keep = (key: string) => (draft: Kept | null) => setDrafts((before) => {
    const { [key]: _, ...others } = before;
    return draft === null ? others : { ...others, [key]: draft };
  });
  const leaving = useLeaving(Object.keys(drafts).length > 0);
  const hasPanel = isNew || task !== undefined;
  return (
    <>
      <div className="row">
        <p className="small workflows-grow">{t.tasks.lead}</p>
        {may("createTask") && !isNew && <Button icon="plus" onPress={() => select("new")}>{t.tasks.add}</Button>}
      </div>
      <div className={hasPanel && workflow.tasks.length > 0 ? "workflows-tasks open" : "workflows-tasks"}>
        {workflow.tasks.length > 0
          ? <Graph label={t.tasks.graph} nodes={nodes} edges={edges} selected={task ? selected : null} onSelect={select} height={hasPanel ? "32rem" : "26rem"} />
          : !isNew && <Empty icon="workflow" title={t.tasks.none}>{may("createTask") ? t.tasks.noneLead : ""}</Empty>}
        {hasPanel && (
          <TaskPanel key={isNew ? "new" : task!.id} workflow={workflow} task={isNew ? null : task!}
            draft={drafts[isNew ? "new" : task!.id] ?? null}
            warnings={saved !== null && saved.id === task?.id ? saved.warnings : []} onSaved={setSaved}
            onDraft={keep(isNew ? "new" : String(task!.id))} onSelect={select} />
        )}
      </div>
      {leaving}
    </>
  );
}
