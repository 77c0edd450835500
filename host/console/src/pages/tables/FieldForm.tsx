/** A field, new or changed. In a physical table the database is changed first, after its statements were shown. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Actions, Button, Checkbox, Dialog, TextArea, TextField } from "../../ui/controls";
import { Form } from "../../ui/form";
import { Locked } from "../../ui/locked";
import { errorOf, Failure, Loaded } from "../../ui/page";
import { changed, type Field, ifMatch, isStale, orNull, type TableDetail, type Tagged, tagged } from "./api";
import type { Wanted } from "./change";
import { TEXTS } from "./texts";
import { TABLE_TEXTS } from "./texts-table";

interface Values {
  fieldName: string;
  fieldType: string;
  isPrimaryKey: boolean;
  isNullable: boolean;
  /** Null: no default; an empty text is one. */
  defaultValue: string | null;
  fieldComment: string;
  description: string;
}

const NEW: Values = {
  fieldName: "", fieldType: "", isPrimaryKey: false, isNullable: true, defaultValue: null, fieldComment: "", description: "",
};

/** The members whose field says what is wrong with it. */
const SHOWN = ["fieldName", "fieldType", "fieldComment", "description"];

function valuesOf(field: Field): Values {
  const { fieldName, fieldType, isPrimaryKey, isNullable, defaultValue } = field;
  return { fieldName, fieldType, isPrimaryKey, isNullable, defaultValue, fieldComment: field.fieldComment ?? "", description: field.description ?? "" };
}

/** Of the values those that differ, as the interface takes them. */
function bodyOf(values: Values, before: Values | null): Schemas["UpdateField"] {
  const body: Record<string, unknown> = {};
  for (const [member, value] of Object.entries(values)) {
    if (before !== null && before[member as keyof Values] === value) continue;
    const isOptional = member === "fieldComment" || member === "description";
    body[member] = isOptional ? orNull(value) : typeof value === "string" && member !== "defaultValue" ? value.trim() : value;
  }
  return body;
}

export function readField(id: number, fieldId: number) {
  return tagged(api.GET("/api/v1/tables/{id}/fields/{fieldId}", { params: { path: { id, fieldId } } }));
}

type Start = (wanted: Wanted) => Promise<boolean>;

export function FieldForm({ table, field, start, onClose }: { table: TableDetail; field: Field | null; start: Start; onClose: () => void }) {
  const tt = useTexts(TABLE_TEXTS);
  const [isBusy, setBusy] = useState(false);
  const rest = { table, start, isBusy, setBusy, onClose };
  return (
    <Dialog title={field ? tt.changeField : tt.addField} isOpen isBusy={isBusy} onClose={onClose}>
      {field ? <Known id={field.id} {...rest} /> : <Members read={null} {...rest} />}
    </Dialog>
  );
}

interface Rest {
  table: TableDetail; start: Start; isBusy: boolean; setBusy: (isBusy: boolean) => void; onClose: () => void;
}

/** The form begins with what stands on the server: the page behind may show what was there before. */
function Known({ id, ...rest }: Rest & { id: number }) {
  const read = useQuery({
    queryKey: ["tables", rest.table.id, "fields", id], queryFn: () => readField(rest.table.id, id), gcTime: 0, staleTime: Infinity,
  });
  return <Loaded query={read}>{(now) => <Members read={now} {...rest} />}</Loaded>;
}

function Members({ table, read, start, isBusy, setBusy, onClose }: Rest & { read: Tagged<Field> | null }) {
  const t = useTexts(TEXTS);
  const tt = useTexts(TABLE_TEXTS);
  // What the form began with, and the tag to change it by, are of one answer.
  const [began, setBegan] = useState(read);
  const field = began?.value ?? null;
  const before = field && valuesOf(field);
  const [values, setValues] = useState(before ?? NEW);
  const [error, setError] = useState<unknown>(null);
  const [added, setAdded] = useState("");
  const put = <Member extends keyof Values>(member: Member) => (value: Values[Member]) => setValues((now) => ({ ...now, [member]: value }));
  const body = bodyOf(values, before);
  const save = async (isNext: boolean) => {
    setBusy(true);
    setError(null);
    setAdded("");
    const path = { id: table.id };
    try {
      const isDone = await start({
        tableId: table.id, title: field ? tt.changeFieldOf(field.fieldName) : tt.addFieldOf(values.fieldName), action: tt.run,
        send: (dryRun) => changed(field
          ? api.PUT("/api/v1/tables/{id}/fields/{fieldId}", {
            params: { path: { ...path, fieldId: field.id }, query: { dryRun }, header: ifMatch(began?.tag) }, body,
          })
          : api.POST("/api/v1/tables/{id}/fields", { params: { path, query: { dryRun } }, body: body as Schemas["CreateField"] })),
      });
      if (isDone && !isNext) onClose();
      if (isDone && isNext) {
        setAdded(values.fieldName);
        setValues(NEW);
      }
    } catch (reason) {
      setError(field && isStale(reason) ? await takeStanding(field).then(() => reason, (failure: unknown) => failure) : reason);
    } finally {
      setBusy(false);
    }
  };
  // What others changed is shown; a value that was typed here stays.
  const takeStanding = async ({ id }: Field) => {
    const now = await readField(table.id, id);
    const typed = Object.entries(values).filter(([member, value]) => before?.[member as keyof Values] !== value);
    setBegan(now);
    setValues({ ...valuesOf(now.value), ...Object.fromEntries(typed) });
  };
  const isReady = values.fieldName.trim() !== "" && values.fieldType.trim() !== "" && Object.keys(body).length > 0;
  return (
    <Form onSubmit={() => save(false)} isBusy={isBusy}>
      <p className="small">{table.physical ? tt.fieldPhysicalLead : tt.fieldLogicalLead}</p>
      {added !== "" && <p className="note" role="status">{tt.fieldAdded(added)}</p>}
      <Locked isBusy={isBusy} isStack>
        <div className="columns tables-pair">
          <TextField label={t.name} value={values.fieldName} onChange={put("fieldName")} isRequired autoFocus error={errorOf(error, "fieldName")} />
          <TextField label={tt.type} value={values.fieldType} onChange={put("fieldType")} isRequired hint={tt.typeHint(table.cluster?.kind ?? "")}
            error={errorOf(error, "fieldType")} />
        </div>
        <div className="row">
          <Checkbox label={tt.primaryKey} isSelected={values.isPrimaryKey} onChange={put("isPrimaryKey")} />
          <Checkbox label={tt.nullable} isSelected={values.isNullable} onChange={put("isNullable")} />
          <Checkbox label={tt.hasDefault} isSelected={values.defaultValue !== null} onChange={(has) => put("defaultValue")(has ? "" : null)} />
        </div>
        {values.defaultValue !== null && (
          <TextField label={tt.default} value={values.defaultValue} onChange={put("defaultValue")} hint={tt.defaultHint} error={errorOf(error, "defaultValue")} />
        )}
        <TextField label={t.comment} value={values.fieldComment} onChange={put("fieldComment")} hint={tt.commentHint} error={errorOf(error, "fieldComment")} />
        <TextArea label={t.description} value={values.description} onChange={put("description")} rows={2} hint={tt.descriptionHint} error={errorOf(error, "description")} />
      </Locked>
      {isStale(error) ? <p className="note" role="alert">{tt.fieldChangedMeanwhile}</p> : <Failure error={error} shown={values.defaultValue === null ? SHOWN : [...SHOWN, "defaultValue"]} />}
      <Actions>
        <Button isDisabled={isBusy} onPress={onClose}>{t.cancel}</Button>
        {!field && <Button isDisabled={!isReady || isBusy} onPress={() => void save(true)}>{tt.saveAndNext}</Button>}
        <Button type="submit" kind="primary" isBusy={isBusy} isDisabled={!isReady}>{isStale(error) ? tt.overwrite : tt.save}</Button>
      </Actions>
    </Form>
  );
}
