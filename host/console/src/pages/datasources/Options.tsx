/** The options of a data source: a field for each that its dialect describes, and JSON for what has no field. */
import { useTexts } from "../../i18n";
import { TextArea } from "../../ui/controls";
import { errorOf } from "../../ui/page";
import { SettingField } from "../engines/SettingField";
import { described, errorsAt, read, type Setting, shown } from "../engines/settings";
import { TEXTS } from "./texts";
import { othersOf, type Values } from "./values";

export function Options({ schema, values, onChange, error, badOptions }: {
  /** The dialect's schema of its options. */
  schema: unknown; values: Values; onChange: (values: Values) => void; error: unknown; badOptions: string | undefined;
}) {
  const t = useTexts(TEXTS);
  const { settings } = described(schema);
  const standing = standingOf(values);
  const type = (setting: Setting) => (text: string) =>
    onChange({ ...values, typed: { ...values.typed, [setting.name]: { text, value: read(setting, text) } } });
  const hasOthers = standing === null || Object.keys(standing).some((name) => !settings.some((setting) => setting.name === name));
  const isWrong = badOptions !== undefined || errorsAt(error, "options") !== undefined;
  return (
    <details open={isWrong || undefined}>
      <summary>{t.options}</summary>
      <div className="stack">
        {settings.map((setting) => (
          <SettingField key={setting.name} setting={setting} error={errorsAt(error, `options.${setting.name}`)} onChange={type(setting)}
            value={values.typed[setting.name]?.text ?? shown(setting, standing?.[setting.name])} />
        ))}
        {(settings.length === 0 || hasOthers) && (
          <TextArea label={t.optionsJson} value={values.options} onChange={(options) => onChange({ ...values, options })} rows={3} hint={t.optionsHint}
            error={(standing === null ? badOptions : undefined) ?? errorOf(error, "options")} placeholder="{}" />
        )}
      </div>
    </details>
  );
}

/** null: what is typed is no JSON object. */
function standingOf(values: Values): Record<string, unknown> | null {
  try {
    return othersOf(values);
  } catch {
    return null;
  }
}
