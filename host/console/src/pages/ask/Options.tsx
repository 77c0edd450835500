/** What a topic may use: its data sources and its model. */
import { useTexts } from "../../i18n";
import { Checkbox, Select } from "../../ui/controls";
import { Loaded } from "../../ui/page";
import type { Choices } from "./send";
import { TEXTS } from "./texts";
import { useDatasources, useModels } from "./topics";

const DEFAULT = "";

export function Options({ value, onChange }: { value: Choices; onChange: (value: Choices) => void }) {
  const t = useTexts(TEXTS);
  const datasources = useDatasources();
  const models = useModels();
  return (
    <div className="ask-options">
      <fieldset>
        <legend>{t.datasources}</legend>
        <Loaded query={datasources}>
          {(names) => {
            const chosen = value.datasources ?? names;
            return (
              <div className="ask-sources">
                <Checkbox label={t.allDatasources} isSelected={value.datasources === null}
                  onChange={(isAll) => onChange({ ...value, datasources: isAll ? null : names })} />
                {value.datasources !== null && names.map((name) => (
                  <Checkbox key={name} label={name} isSelected={chosen.includes(name)}
                    // The order is that of the list.
                    onChange={(isIn) => onChange({ ...value, datasources: names.filter((one) => (one === name ? isIn : chosen.includes(one))) })} />
                ))}
              </div>
            );
          }}
        </Loaded>
        <p className="small">{value.datasources?.length === 0 ? t.noDatasource : t.datasourcesHint}</p>
      </fieldset>
      <Loaded query={models}>
        {(list) => (
          <Select label={t.model} value={value.model ?? DEFAULT} hint={t.modelHint}
            onChange={(model) => onChange({ ...value, model: model === DEFAULT ? null : model })}
            choices={[
              { value: DEFAULT, label: t.defaultModel(list.find((model) => model.isDefault)?.name ?? "offline") },
              ...list.map((model) => ({
                value: model.name,
                label: model.provider === "offline" ? t.offlineModel : `${model.name} (${model.model})`,
              })),
            ]} />
        )}
      </Loaded>
    </div>
  );
}

/** What was chosen, in a few words. */
export function useChosen(value: Choices): string {
  const t = useTexts(TEXTS);
  const sources = value.datasources === null ? t.allDatasources : value.datasources.join(", ") || t.noDatasource;
  return value.model === null ? sources : `${sources} · ${value.model}`;
}
