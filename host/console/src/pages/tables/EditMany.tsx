/** Changes what only the catalogue has, of several tables at once. */
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useChange } from "../../api/query";
import { useFormat, useTexts } from "../../i18n";
import { Actions, Button, Checkbox, Dialog, TextField } from "../../ui/controls";
import { Form } from "../../ui/form";
import { Failure } from "../../ui/page";
import { orNull, splitTags } from "./api";
import { TEXTS } from "./texts";

const MEMBERS = ["owner", "layer", "businessDomain", "dataDomain"] as const;

export function EditMany({ ids, onClose, onDone }: { ids: number[]; onClose: () => void; onDone: () => void }) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const [values, setValues] = useState<Partial<Record<(typeof MEMBERS)[number], string>>>({});
  const [added, setAdded] = useState("");
  const [removed, setRemoved] = useState("");
  const change = useChange(
    (set: Schemas["SetOnTables"]) => data(api.PATCH("/api/v1/tables", { body: { ids, set } })),
    [["tables"], ["lineage"]],
  );
  const set: Schemas["SetOnTables"] = {};
  for (const member of MEMBERS) if (values[member] !== undefined) set[member] = orNull(values[member]);
  if (splitTags(added).length > 0) set.addTags = splitTags(added);
  if (splitTags(removed).length > 0) set.removeTags = splitTags(removed);
  const submit = () => {
    change.mutate(set, { onSuccess: onDone });
  };
  if (change.data) {
    return (
      <Dialog title={t.changeMany(format.number(ids.length))} isOpen isDismissable onClose={onClose}>
        <p role="status">{t.changedMany(format.number(change.data.changed), format.number(change.data.tables.length))}</p>
        <Actions><Button kind="primary" onPress={onClose}>{t.close}</Button></Actions>
      </Dialog>
    );
  }
  return (
    <Dialog title={t.changeMany(format.number(ids.length))} isOpen isBusy={change.isPending} onClose={onClose}>
      <Form onSubmit={submit} isBusy={change.isPending}>
        <p className="small">{t.changeManyLead}</p>
        {MEMBERS.map((member) => (
          <div key={member} className="stack">
            <Checkbox label={t[member]} isSelected={values[member] !== undefined}
              onChange={(isSet) => setValues({ ...values, [member]: isSet ? "" : undefined })} />
            {values[member] !== undefined && (
              <TextField label={t[member]} isLabelHidden value={values[member]} placeholder={t.emptyRemoves}
                onChange={(value) => setValues({ ...values, [member]: value })} />
            )}
          </div>
        ))}
        <TextField label={t.addTags} value={added} onChange={setAdded} hint={t.tagsHint} />
        <TextField label={t.removeTags} value={removed} onChange={setRemoved} />
        <Failure error={change.error} />
        <Actions>
          <Button isDisabled={change.isPending} onPress={onClose}>{t.cancel}</Button>
          <Button type="submit" kind="primary" isBusy={change.isPending} isDisabled={Object.keys(set).length === 0}>{t.change}</Button>
        </Actions>
      </Form>
    </Dialog>
  );
}
