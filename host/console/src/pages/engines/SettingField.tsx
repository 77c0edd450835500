/** The field of one setting of a plugin. */
import { useTexts } from "../../i18n";
import { Select, TextArea, TextField } from "../../ui/controls";
import { read, type Setting, shown, shownFreely, WRONG } from "./settings";
import { TEXTS } from "./texts";

export function SettingField({ setting, value, onChange, error }: {
  setting: Setting; value: string; onChange: (value: string) => void;
  /** What the server says of it. */
  error: string | undefined;
}) {
  const t = useTexts(TEXTS);
  const { kind, name, title, description, pattern, isRequired } = setting;
  const needs = isRequired && setting.default === undefined;
  const wrong = read(setting, value) === WRONG ? (kind === "integer" ? t.notInteger : kind === "number" ? t.notNumber : t.notJson) : error;
  const said = [needs && t.required, description ?? (pattern && t.matches(pattern)), kind === "any" && t.valueHint].filter(Boolean).join(" ");
  const hint = title || said ? <>{title && <code className="engines-member">{name}</code>}{said}</> : undefined;
  const label = title ?? name;
  if (kind === "choice") {
    const labelOf = (one: unknown) => (one === true ? t.yes : one === false ? t.no : shownFreely(one));
    const choices = setting.choices.map((one) => ({ value: shown(setting, one), label: labelOf(one) }));
    // A value that the schema no longer has stays, until another is chosen.
    if (value !== "" && !choices.some((one) => one.value === value)) choices.push({ value, label: value });
    const none = needs ? t.notChosen : setting.default === undefined ? t.isDefault : t.defaultIs(labelOf(setting.default));
    return (
      <Select label={label} value={value} onChange={onChange} hint={hint} error={wrong}
        choices={[{ value: "", label: none }, ...choices]} />
    );
  }
  const placeholder = shown(setting, setting.default ?? setting.example);
  const rest = { label, value, onChange, hint, error: wrong, placeholder, isRequired: needs };
  return kind === "json" ? <TextArea {...rest} rows={2} /> : <TextField {...rest} />;
}
