/** Runs past periods of a workflow again: what would run, then how far it is. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, Failed, type Schemas } from "../../api/client";
import { useMay } from "../../api/me";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button, Checkbox, Select, TextArea, TextField } from "../../ui/controls";
import { TimeField } from "../../ui/fields";
import { useLeaving } from "../../ui/leaving";
import { Empty, Facts, Failure, Section } from "../../ui/page";
import { BackfillList } from "./BackfillList";
import { BackfillProgress } from "./BackfillProgress";
import { type WorkflowDetail } from "./data";
import { WorkflowLink } from "./parts";
import { TEXTS } from "./texts";

type Preview = Schemas["BackfillPreview"];

interface Form {
  mode: "range" | "list";
  startTime: string;
  endTime: string;
  dates: string;
  runMode: Schemas["RunMode"];
  parallelism: string;
  isDependent: boolean;
  isAllLevels: boolean;
  order: Schemas["ExecutionOrder"];
  failureStrategy: Schemas["FailureStrategy"];
}

/** A form, and what it would run. */
interface Looked {
  form: Form;
  preview: Preview;
}

const FIRST: Form = {
  mode: "range", startTime: "", endTime: "", dates: "", runMode: "RUN_MODE_SERIAL", parallelism: "2", isDependent: false, isAllLevels: false,
  order: "DESC_ORDER", failureStrategy: "CONTINUE",
};

export function BackfillTab({ workflow }: { workflow: WorkflowDetail }) {
  const t = useTexts(TEXTS).backfill;
  const { text, set } = useAddress();
  const may = useMay();
  const code = text("backfill");
  const canStart = may("backfillWorkflow") && workflow.status === "online";
  const open = (one: string) => set({ backfill: one }, true);
  return (
    <>
      {code !== "" && <BackfillProgress key={code} code={code} />}
      {canStart && <Start workflow={workflow} onStarted={open} />}
      {may("backfillWorkflow") && !canStart && (
        <Empty icon="clock" title={workflow.workflowCode === null ? t.notDeployed : t.notOnline}>{t.notOnlineLead}</Empty>
      )}
      <BackfillList workflowId={workflow.id} opened={code} onOpen={open} canStart={canStart} />
    </>
  );
}

function Start({ workflow, onStarted }: { workflow: WorkflowDetail; onStarted: (code: string) => void }) {
  const texts = useTexts(TEXTS);
  const t = texts.backfill;
  const client = useQueryClient();
  const [form, setForm] = useState(FIRST);
  // A change of the form makes the preview one of something else.
  const [shown, setShown] = useState<Looked | null>(null);
  // What was started is not lost: it asks again only after a change.
  const [started, setStarted] = useState(FIRST);
  const leaving = useLeaving(form !== started);
  const change = (members: Partial<Form>) => setForm({ ...form, ...members });
  const params = { path: { id: workflow.id } };
  const preview = useMutation({
    mutationFn: (asked: Form) => data<Preview>(api.POST("/api/v1/workflows/{id}/backfill/preview", { params, body: bodyOf(asked) })),
    onSuccess: (made, asked) => setShown({ form: asked, preview: made }),
    onError: () => setShown(null),
  });
  const start = useMutation({
    mutationFn: (wanted: Looked) => data<string>(api.POST("/api/v1/workflows/{id}/backfill", {
      params, body: { ...bodyOf(wanted.form), previewToken: wanted.preview.previewToken },
    })),
    onSuccess: () => {
      for (const first of ["backfills", "executions"]) void client.invalidateQueries({ queryKey: [first] });
    },
  });
  // What follows the press is done only if the form is still shown.
  const press = (wanted: Looked) => start.mutate(wanted, {
    onSuccess: (code) => {
      setShown(null);
      setStarted(wanted.form);
      onStarted(code);
    },
  });
  const current = shown?.form === form ? shown : null;
  const hasChanged = start.error instanceof Failed && start.error.status === 409;
  return (
    <Section title={t.title}>
      <p className="small">{t.lead}</p>
      <div className="workflows-form">
        <Select label={t.mode} value={form.mode} onChange={(mode) => change({ mode })}
          choices={[{ value: "range", label: t.range }, { value: "list", label: t.list }]} />
        {form.mode === "range" && (
          <>
            <TimeField label={t.from} value={form.startTime} onChange={(startTime) => change({ startTime })} />
            <TimeField label={t.to} value={form.endTime} onChange={(endTime) => change({ endTime })} />
          </>
        )}
      </div>
      {form.mode === "list" && (
        <TextArea label={t.dates} value={form.dates} onChange={(dates) => change({ dates })} rows={3}
          placeholder="2026-02-28 04:10:00" hint={t.datesHint} />
      )}
      <div className="workflows-form">
        <Select label={t.runMode} value={form.runMode} onChange={(runMode) => change({ runMode })}
          choices={[{ value: "RUN_MODE_SERIAL", label: t.serial }, { value: "RUN_MODE_PARALLEL", label: t.parallel }]} />
        {form.runMode === "RUN_MODE_PARALLEL" && (
          <TextField label={t.parallelism} type="number" value={form.parallelism}
            onChange={(parallelism) => change({ parallelism })} />
        )}
        <Select label={t.order} value={form.order} onChange={(order) => change({ order })}
          choices={[{ value: "DESC_ORDER", label: t.newestFirst }, { value: "ASC_ORDER", label: t.oldestFirst }]} />
        <Select label={texts.failureStrategy} value={form.failureStrategy} onChange={(failureStrategy) => change({ failureStrategy })}
          choices={[{ value: "CONTINUE", label: t.strategies.CONTINUE }, { value: "END", label: t.strategies.END }]} />
      </div>
      <div className="row">
        <Checkbox label={t.dependents} isSelected={form.isDependent} onChange={(isDependent) => change({ isDependent })} />
        {form.isDependent && (
          <Checkbox label={t.allLevels} isSelected={form.isAllLevels} onChange={(isAllLevels) => change({ isAllLevels })} />
        )}
      </div>
      <Failure error={preview.error ?? start.error} />
      {hasChanged && <p className="small">{t.previewAgain}</p>}
      {current && <Shown preview={current.preview} workflowId={workflow.id} />}
      <div className="actions">
        <Button kind={current ? "plain" : "primary"} isBusy={preview.isPending} onPress={() => {
          start.reset();
          preview.mutate(form);
        }}>{t.preview}</Button>
        {current && (
          <Button kind="primary" icon="run" isBusy={start.isPending} onPress={() => press(current)}>
            {t.start(current.preview.total * current.preview.runsPerDate)}
          </Button>
        )}
      </div>
      {leaving}
    </Section>
  );
}

function Shown({ preview, workflowId }: { preview: Preview; workflowId: number }) {
  const t = useTexts(TEXTS).backfill;
  const format = useFormat();
  const others = preview.workflows.filter((one) => one.workflowId !== workflowId);
  return (
    <div className="stack workflows-change" role="status">
      <Facts facts={[
        [t.total, format.number(preview.total)],
        [t.succeeded, format.number(preview.alreadySucceeded)],
        [t.perDate, format.number(preview.runsPerDate)],
        [t.allRuns, format.number(preview.total * preview.runsPerDate)],
      ]} />
      {others.length > 0 && (
        <p>
          {t.also} {others.map((one, place) => <span key={one.workflowId}>{place > 0 && ", "}<WorkflowLink id={one.workflowId}>{one.workflowName}</WorkflowLink></span>)}
        </p>
      )}
      {preview.leftOut.length > 0 && (
        <div>
          <p>{t.leftOut}</p>
          <ul>
            {preview.leftOut.map((one) => (
              <li key={one.workflowId}><WorkflowLink id={one.workflowId}>{one.workflowName}</WorkflowLink>: {one.reason}</li>
            ))}
          </ul>
        </div>
      )}
      <ol className="workflows-dates" tabIndex={0} aria-label={t.inThisOrder}>
        {preview.dates.map((date) => <li key={date}><time>{date}</time></li>)}
      </ol>
      {preview.truncated && <p className="small">{t.truncated(format.number(preview.dates.length), format.number(preview.total))}</p>}
    </div>
  );
}

function bodyOf(form: Form): Schemas["Backfill"] {
  return {
    mode: form.mode,
    startTime: form.mode === "range" ? form.startTime || null : null,
    endTime: form.mode === "range" ? form.endTime || null : null,
    scheduleDateList: form.mode === "list" ? form.dates.split(/[\n,]/).map((one) => one.trim()).filter(Boolean).join(",") : null,
    runMode: form.runMode,
    expectedParallelismNumber: form.runMode === "RUN_MODE_PARALLEL" && form.parallelism.trim() !== "" ? Number(form.parallelism) : null,
    complementDependentMode: form.isDependent ? "ALL_DEPENDENT" : "OFF_MODE",
    allLevelDependent: form.isDependent && form.isAllLevels,
    executionOrder: form.order,
    failureStrategy: form.failureStrategy,
    previewToken: null,
  };
}
