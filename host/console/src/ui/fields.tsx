/** Fields that not every page needs: a time, and a text with suggestions. */
import { useState } from "react";
import {
  Button as AriaButton, ComboBox, FieldError, Input, Label, ListBox, ListBoxItem, Popover, Text, TextField as AriaTextField,
} from "react-aria-components";
import { useTexts } from "../i18n";
import type { Choice } from "./controls";
import { Icon } from "./icons";
import { TEXTS } from "./texts";

/** A time as areas B and C write it, `yyyy-MM-dd HH:mm:ss`; "" is none. */
export function TimeField({ label, value, onChange, hint, error, isDisabled, isRequired }: {
  label: string; value: string; onChange: (value: string) => void; hint?: string; error?: string | undefined; isDisabled?: boolean;
  isRequired?: boolean;
}) {
  // The browser leaves out seconds that are zero.
  const asTime = (text: string) => (text === "" ? "" : `${text.replace("T", " ")}:00`.slice(0, 19));
  return (
    <AriaTextField isInvalid={error !== undefined} isDisabled={isDisabled ?? false} isRequired={isRequired ?? false} validationBehavior="aria"
      value={value.replace(" ", "T")} onChange={(text) => onChange(asTime(text))} className="field">
      <Label>{label}</Label>
      <Input type="datetime-local" step="1" />
      {hint && <Text slot="description">{hint}</Text>}
      <FieldError>{error}</FieldError>
    </AriaTextField>
  );
}

/** At most this many suggestions are drawn. */
const SHOWN = 100;

/** A text with suggestions. What is typed counts as well, unless `onPick` is given: then only a suggestion does. */
export function ComboField({ label, value, onChange, onPick, choices, hint, error, placeholder, isDisabled }: {
  label: string; value: string; onChange: (value: string) => void;
  /** A suggestion was taken, by its value. */
  onPick?: (value: string) => void;
  choices: readonly Choice[]; hint?: string; error?: string | undefined; placeholder?: string; isDisabled?: boolean;
}) {
  const t = useTexts(TEXTS);
  const [isTyping, setTyping] = useState(false);
  // The list closes when another suggestion is taken than before.
  const [picked, setPicked] = useState<string | null>(null);
  // Until something is typed, the list shows everything and not only what is like the value.
  const wanted = isTyping || (onPick && picked === null) ? value.trim().toLowerCase() : "";
  const shown = choices.filter((choice) => choice.label.toLowerCase().includes(wanted)).slice(0, SHOWN);
  return (
    <ComboBox className="field" inputValue={value} isInvalid={error !== undefined} isDisabled={isDisabled ?? false} allowsCustomValue menuTrigger="focus"
      // Suggestions of the server come after the last key: the list has to be open for them.
      allowsEmptyCollection={onPick !== undefined}
      items={shown.map((choice) => ({ id: choice.value, label: choice.label }))} selectedKey={picked}
      onInputChange={(text) => {
        if (text === value) return;
        setTyping(true);
        setPicked(null);
        onChange(text);
      }}
      onOpenChange={(isOpen) => !isOpen && setTyping(false)}
      onSelectionChange={(key) => {
        if (key === null) return;
        setTyping(false);
        setPicked(String(key));
        if (onPick) onPick(String(key));
        else onChange(choices.find((choice) => choice.value === key)?.label ?? String(key));
      }}>
      <Label>{label}</Label>
      <span className="combo">
        <Input placeholder={placeholder ?? ""} />
        <AriaButton className="button quiet square"><Icon name="down" /></AriaButton>
      </span>
      {hint && <Text slot="description">{hint}</Text>}
      <FieldError>{error}</FieldError>
      <Popover className="popover">
        <ListBox className="listbox" renderEmptyState={() => <p className="option small">{t.noMatch}</p>}>
          {(item: { id: string; label: string }) => <ListBoxItem id={item.id} textValue={item.label} className="option">{item.label}</ListBoxItem>}
        </ListBox>
      </Popover>
    </ComboBox>
  );
}
