/** A choice of a workflow. Where there are more than one answer of the server has, they are searched by name. */
import { useState } from "react";
import { useTexts } from "../../i18n";
import { SearchField, Select } from "../../ui/controls";
import { useSettled } from "../../ui/settled";
import { useChoices, useWorkflow } from "./data";
import { TEXTS } from "./texts";

const PAUSE_MS = 300;

export function WorkflowSelect({ label, value, any, onChange }: {
  label: string;
  /** Null: any. */
  value: number | null;
  /** The text of the choice of any; without it one has to be chosen. */
  any?: string;
  onChange: (id: number | null) => void;
}) {
  const t = useTexts(TEXTS);
  const [typed, setTyped] = useState("");
  const all = useChoices("").data;
  const { records = [] } = useChoices(useSettled(typed.trim(), PAUSE_MS)).data ?? {};
  const isCut = all !== undefined && all.total > all.records.length;
  // The chosen one may not be among those that are found.
  const chosen = useWorkflow(value ?? 0, isCut && value !== null).data;
  const shown = chosen && !records.some((one) => one.id === chosen.id) ? [chosen, ...records] : records;
  return (
    <>
      {isCut && <SearchField label={t.searchByName} value={typed} onChange={setTyped} />}
      <Select label={label} value={value === null ? "any" : String(value)} onChange={(id) => onChange(id === "any" ? null : Number(id))}
        choices={[...(any === undefined ? [] : [{ value: "any", label: any }]), ...shown.map((one) => ({ value: String(one.id), label: one.name }))]} />
    </>
  );
}
