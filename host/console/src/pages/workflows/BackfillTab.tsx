/** Runs past periods of a workflow again: what would run, then how far it is. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, Failed, type Schemas } from "../../api/client";
import { useMay, useMe } from "../../api/me";
import { useFormat, useLanguage, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button, Checkbox, Select, TextArea, TextField } from "../../ui/controls";
import { TimeField } from "../../ui/fields";
import { useLeaving } from "../../ui/leaving";
import { Empty, errorOf, Facts, Failure, Section } from "../../ui/page";
import { bodyOf, type Field, FIELDS, FIRST, type Form, wrongOf } from "./backfill-form";
import { BackfillList } from "./BackfillList";
import { BackfillProgress } from "./BackfillProgress";
import { type WorkflowDetail } from "./data";
import { WorkflowLink } from "./parts";
import { inLanguage } from "./reasons";
import { TEXTS } from "./texts";

type Preview = Schemas["BackfillPreview"];

/** A form, and what it would run. */
interface Looked {
  form: Form;
  preview: Preview;
}

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
  const { timeZone } = useMe();
  const { language } = useLanguage();
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
  // Until it is asked for a preview, an empty form is no mistake.
  const [isChecked, setChecked] = useState(false);
  const wrong = wrongOf(form, timeZone, t.wrong);
  // A refusal is about what was sent.
  const refusal = preview.variables === form ? inLanguage(preview.error, language) : null;
  const at = (field: Field) => (isChecked ? wrong[field] : undefined) ?? errorOf(refusal, field);
  const isAtField = FIELDS.some((field) => errorOf(refusal, field) !== undefined);
  const look = () => {
    setChecked(true);
    start.reset();
    if (Object.keys(wrong).length === 0) preview.mutate(form);
    else preview.reset();
  };
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
            <TimeField label={t.from} value={form.startTime} onChange={(startTime) => change({ startTime })} hint={t.required} isRequired
              error={at("startTime")} />
            <TimeField label={t.to} value={form.endTime} onChange={(endTime) => change({ endTime })} hint={t.required} isRequired
              error={at("endTime")} />
          </>
        )}
      </div>
      {form.mode === "list" && (
        <TextArea label={t.dates} value={form.dates} onChange={(dates) => change({ dates })} rows={3}
          placeholder="2026-02-28 04:10:00" hint={t.datesHint} isRequired error={at("scheduleDateList")} />
      )}
      <div className="workflows-form">
        <Select label={t.runMode} value={form.runMode} onChange={(runMode) => change({ runMode })}
          choices={[{ value: "RUN_MODE_SERIAL", label: t.serial }, { value: "RUN_MODE_PARALLEL", label: t.parallel }]} />
        {form.runMode === "RUN_MODE_PARALLEL" && (
          <TextField label={t.parallelism} type="number" value={form.parallelism}
            onChange={(parallelism) => change({ parallelism })} isRequired error={at("expectedParallelismNumber")} />
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
      {!isAtField && <Failure error={refusal} />}
      <Failure error={inLanguage(start.error, language)} />
      {hasChanged && <p className="small">{t.previewAgain}</p>}
      {current && <Shown preview={current.preview} workflowId={workflow.id} />}
      <div className="actions">
        <Button kind={current ? "plain" : "primary"} isBusy={preview.isPending} isDisabled={start.isPending} onPress={look}>{t.preview}</Button>
        {current && (
          <Button kind="primary" icon="run" isBusy={start.isPending} isDisabled={preview.isPending} onPress={() => press(current)}>
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
