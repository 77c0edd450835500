/** What a workflow is besides its tasks: name, engine, what simultaneous runs do, global parameters. */
import { api, data, ifMatch, type Schemas } from "../../api/client";
import { useMay } from "../../api/me";
import { useTexts } from "../../i18n";
import { Button, IconButton, Select, TextArea, TextField } from "../../ui/controls";
import { errorOf, Facts, Section, Time } from "../../ui/page";
import { useEngines, type WorkflowDetail } from "./data";
import { SaveRow, useDraft, WithTag } from "./saving";
import { TEXTS } from "./texts";

export function SettingsTab({ workflow }: { workflow: WorkflowDetail }) {
  return (
    <WithTag workflow={workflow}>
      {(read, tag, onReload) => <Settings workflow={read} tag={tag} onReload={onReload} />}
    </WithTag>
  );
}

interface Form {
  name: string;
  description: string;
  schedulerEngine: string;
  concurrency: Schemas["Concurrency"];
  globalParams: Schemas["GlobalParam"][];
}

function Settings({ workflow, tag, onReload }: { workflow: WorkflowDetail; tag: string | undefined; onReload: () => void }) {
  const t = useTexts(TEXTS);
  const s = t.settings;
  const may = useMay();
  const engines = useEngines().data ?? [];
  const standing: Form = {
    name: workflow.name, description: workflow.description ?? "", schedulerEngine: workflow.schedulerEngine,
    concurrency: workflow.concurrency, globalParams: workflow.globalParams,
  };
  const draft = useDraft(standing, tag);
  const { form, change, error } = draft;
  const isReadOnly = !may("updateWorkflow");
  const isLocked = isReadOnly || draft.isBusy;
  const setParam = (place: number, members: Partial<Schemas["GlobalParam"]>) =>
    change({ globalParams: form.globalParams.map((one, at) => (at === place ? { ...one, ...members } : one)) });
  const save = () => draft.save((over) => data(api.PUT("/api/v1/workflows/{id}", {
    params: { path: { id: workflow.id }, header: ifMatch(over) },
    body: { ...form, name: form.name.trim(), description: form.description.trim() || null },
  })));
  return (
    <>
      <Section title={s.title}>
        <div className="workflows-form">
          <TextField label={t.name} value={form.name} onChange={(name) => change({ name })} maxLength={100}
            isDisabled={isLocked} error={errorOf(error, "name")} />
          <Select label={t.engine} value={form.schedulerEngine}
            onChange={(schedulerEngine) => change({ schedulerEngine })} isDisabled={isLocked}
            choices={engines.map((one) => ({ value: one.name, label: one.name }))} hint={workflow.workflowCode !== null ? s.engineHint : undefined} />
          <Select label={s.concurrency} value={form.concurrency} onChange={(concurrency) => change({ concurrency })} isDisabled={isLocked}
            choices={(["parallel", "wait", "discard"] as const).map((value) => ({ value, label: s.concurrencies[value] }))} />
        </div>
        <TextArea label={t.description} value={form.description} onChange={(description) => change({ description })}
          rows={2} isDisabled={isLocked}
          error={errorOf(error, "description")} />
        <h3>{s.params}</h3>
        <p className="small">{s.paramsLead}</p>
        {form.globalParams.map((one, place) => (
          <div key={place} className="workflows-param">
            <TextField label={s.paramName} value={one.name} onChange={(name) => setParam(place, { name })} isDisabled={isLocked}
              error={errorOf(error, `globalParams[${place}].name`)} />
            <TextField label={s.paramValue} value={one.value} onChange={(value) => setParam(place, { value })} isDisabled={isLocked}
              error={errorOf(error, `globalParams[${place}].value`)} />
            {!isReadOnly && (
              <IconButton icon="bin" label={s.removeParam(one.name)} isDisabled={isLocked}
                onPress={() => change({ globalParams: form.globalParams.filter((_, at) => at !== place) })} />
            )}
          </div>
        ))}
        {!isReadOnly && (
          <div>
            <Button icon="plus" isDisabled={isLocked} onPress={() => change({ globalParams: [...form.globalParams, { name: "", value: "" }] })}>
              {s.addParam}
            </Button>
          </div>
        )}
        {!isReadOnly && (
          <SaveRow draft={draft} isDisabled={form.name.trim() === ""} onSave={save} onReload={onReload}
            fields={["name", "description", ...form.globalParams.flatMap((_, place) => ["name", "value"].map((one) => `globalParams[${place}].${one}`))]} />
        )}
      </Section>
      <Section title={s.facts}>
        <Facts facts={[
          [s.code, workflow.workflowCode], [s.project, workflow.projectCode],
          [s.version, workflow.currentVersion], [s.published, workflow.publishedVersion],
          [s.created, <span key="c">{workflow.createdBy}, <Time value={workflow.createdAt} /></span>],
          [s.updated, <span key="u">{workflow.updatedBy}, <Time value={workflow.updatedAt} /></span>],
        ]} />
      </Section>
    </>
  );
}
