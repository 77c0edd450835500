/** When a workflow runs: its cron expression, with the times that follow from it while it is typed. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, data, ifMatch, type Schemas } from "../../api/client";
import { useMay, useMe } from "../../api/me";
import { useTexts } from "../../i18n";
import { Button, Select, TextField } from "../../ui/controls";
import { ComboField, TimeField } from "../../ui/fields";
import { Icon } from "../../ui/icons";
import { errorOf, Failure, Section, State } from "../../ui/page";
import { useSettled } from "../../ui/settled";
import { inZone, type WorkflowDetail } from "./data";
import { SaveRow, useDraft, WithTag } from "./saving";
import { TEXTS } from "./texts";

const PAUSE_MS = 300;
/** The members whose field says what is wrong with them. */
const FIELDS = ["crontab", "timezone", "startTime", "endTime"];

interface Form {
  crontab: string;
  timezone: string;
  startTime: string;
  endTime: string;
  failureStrategy: Schemas["FailureStrategy"];
  warningType: Schemas["WarningType"];
}

export function ScheduleTab({ workflow }: { workflow: WorkflowDetail }) {
  return (
    <WithTag workflow={workflow}>
      {(read, tag, onReload) => <Schedule workflow={read} tag={tag} onReload={onReload} />}
    </WithTag>
  );
}

function Schedule({ workflow, tag, onReload }: { workflow: WorkflowDetail; tag: string | undefined; onReload: () => void }) {
  const t = useTexts(TEXTS);
  const s = t.schedules;
  const may = useMay();
  const { id, schedule } = workflow;
  const serverZone = useMe().timeZone;
  const standing: Form = {
    crontab: schedule?.crontab ?? "", timezone: schedule?.timezone ?? serverZone, startTime: schedule?.startTime ?? "",
    endTime: schedule?.endTime ?? "", failureStrategy: schedule?.failureStrategy ?? "CONTINUE", warningType: schedule?.warningType ?? "NONE",
  };
  const draft = useDraft(standing, tag);
  const { form, change, error } = draft;
  const isReadOnly = !may("setSchedule");
  const isLocked = isReadOnly || draft.isBusy;
  const zones = useMemo(() => Intl.supportedValuesOf("timeZone").concat("Etc/UTC").map((value) => ({ value, label: value })), []);
  const body = {
    crontab: form.crontab.trim(), timezone: form.timezone.trim() || null, startTime: form.startTime || null, endTime: form.endTime || null,
    failureStrategy: form.failureStrategy, warningType: form.warningType,
  };
  const asked = useSettled(JSON.stringify(body), PAUSE_MS);
  const askedBody = JSON.parse(asked) as Schemas["SetSchedule"];
  const preview = useQuery({
    queryKey: ["workflows", id, "schedule-preview", asked],
    queryFn: () => data<Schemas["SchedulePreview"]>(api.POST("/api/v1/workflows/{id}/schedule/preview", {
      params: { path: { id } }, body: askedBody,
    })),
    enabled: askedBody.crontab !== "",
    placeholderData: keepPreviousData,
    retry: false,
  });
  // A refusal while typing and one of saving are shown at the same fields.
  const wrong = (name: string) => errorOf(preview.error, name) ?? errorOf(error, name);
  const isAtField = FIELDS.some((name) => errorOf(preview.error, name) !== undefined);
  const save = () => draft.save((over) => data(api.PUT("/api/v1/workflows/{id}/schedule", {
    params: { path: { id }, header: ifMatch(over) }, body,
  })));
  return (
    <div className="columns">
      <Section title={s.title} actions={<State value={workflow.status} />}>
        {workflow.workflowCode === null && <p className="small">{s.notDeployed}</p>}
        {workflow.engineSchedule && (
          <div className="note" role="status">
            <Icon name="warning" />
            <p>{s.engineHas} <code>{workflow.engineSchedule.crontab}</code> ({workflow.engineSchedule.timezone}). {s.engineHasLead}</p>
          </div>
        )}
        <TextField label={s.crontab} value={form.crontab} onChange={(crontab) => change({ crontab })}
          isDisabled={isLocked} hint={s.crontabHint}
          placeholder="0 10 4 * * ? *" error={form.crontab.trim() === "" ? undefined : wrong("crontab")} />
        {!isReadOnly && (
          <div className="presets" role="group" aria-label={s.examples}>
            {s.presets.map(([label, crontab]) => <Button key={crontab} kind="quiet" isDisabled={isLocked} onPress={() => change({ crontab })}>{label}</Button>)}
          </div>
        )}
        <div className="workflows-form">
          <ComboField label={s.zone} value={form.timezone} onChange={(timezone) => change({ timezone })} choices={zones}
            isDisabled={isLocked} error={wrong("timezone")} />
          <TimeField label={s.start} value={form.startTime} onChange={(startTime) => change({ startTime })}
            isDisabled={isLocked} error={wrong("startTime")}
            hint={s.serverTime(serverZone)} />
          <TimeField label={s.end} value={form.endTime} onChange={(endTime) => change({ endTime })}
            isDisabled={isLocked} error={wrong("endTime")} />
          <Select label={t.failureStrategy} value={form.failureStrategy}
            onChange={(failureStrategy) => change({ failureStrategy })} isDisabled={isLocked}
            choices={(["CONTINUE", "END"] as const).map((value) => ({ value, label: t.strategies[value] }))} />
          <Select label={s.warning} value={form.warningType} onChange={(warningType) => change({ warningType })}
            isDisabled={isLocked} hint={s.warningHint}
            choices={(["NONE", "SUCCESS", "FAILURE", "ALL"] as const).map((value) => ({ value, label: s.warnings[value] }))} />
        </div>
        {!isReadOnly && <SaveRow draft={draft} fields={FIELDS} isDisabled={form.crontab.trim() === ""} onSave={save} onReload={onReload} />}
      </Section>
      <Section title={s.next}>
        {form.crontab.trim() === "" ? <p className="small">{s.nextEmpty}</p>
          : isAtField ? <p className="workflows-wrong" role="status">{s.nextWrong}</p>
            : preview.error ? <Failure error={preview.error} onRetry={() => void preview.refetch()} />
              : preview.data && <NextTimes preview={preview.data} serverZone={serverZone} />}
      </Section>
    </div>
  );
}

/** The server shows all times in its own zone; those of a schedule are read in the schedule's. */
function NextTimes({ preview, serverZone }: { preview: Schemas["SchedulePreview"]; serverZone: string }) {
  const s = useTexts(TEXTS).schedules;
  const isOther = serverZone !== preview.timezone;
  if (preview.nextFireTimes.length === 0) return <p className="small">{s.never}</p>;
  return (
    <div className="tablebox">
      <table>
        <thead><tr><th scope="col">{preview.timezone}</th>{isOther && <th scope="col">{s.server(serverZone)}</th>}</tr></thead>
        <tbody>
          {preview.nextFireTimes.map((time) => (
            <tr key={time}>
              <td><time>{isOther ? inZone(time, serverZone, preview.timezone) : time}</time></td>
              {isOther && <td className="faint"><time>{time}</time></td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
