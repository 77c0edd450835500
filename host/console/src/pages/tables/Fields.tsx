/** The fields of a table: comments and descriptions edited where they stand, the rest as a change of the table. */
import { useMemo, useState } from "react";
import { api } from "../../api/client";
import { useMay } from "../../api/me";
import { queries } from "../../api/query";
import { useTexts } from "../../i18n";
import { Button, Menu, SearchField } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { marked } from "../../ui/marks";
import { Empty, Failure, Tag } from "../../ui/page";
import { type Columns, DataTable } from "../../ui/table";
import { useTyped } from "../../ui/typed";
import { changed, type Field, ifMatch, orNull, type TableDetail } from "./api";
import type { Wanted } from "./change";
import { FieldForm, readField } from "./FieldForm";
import { InPlace } from "./InPlace";
import { TEXTS } from "./texts";
import { TABLE_TEXTS } from "./texts-table";

/** Another tab takes the fields away, with what is typed there. */
const CLOSED_BY = ["tab"];

export function Fields({ table, start }: { table: TableDetail; start: (wanted: Wanted) => Promise<boolean> }) {
  const t = useTexts(TEXTS);
  const tt = useTexts(TABLE_TEXTS);
  const may = useMay();
  const [typed, setTyped] = useTyped("field");
  const [edited, setEdited] = useState<Field | "new" | null>(null);
  const [error, setError] = useState<unknown>(null);
  const isActive = table.status === "active";
  const mayEdit = isActive && may("updateField");
  const mayDelete = isActive && may("deleteField");
  const word = typed.trim().toLowerCase();
  const fields = table.fields.filter((field) => (
    [field.fieldName, field.fieldType, field.fieldComment, field.description].some((text) => text?.toLowerCase().includes(word))
  ));
  const id = table.id;
  const columns = useMemo((): Columns<Field> => {
    const remove = (field: Field) => {
      setError(null);
      start({
        tableId: id, title: tt.deleteFieldOf(field.fieldName), action: tt.deleteField, isAsked: true, isDanger: true,
        lead: <p>{tt.deleteFieldLead}</p>,
        send: (dryRun) => changed(api.DELETE("/api/v1/tables/{id}/fields/{fieldId}", {
          params: { path: { id, fieldId: field.id }, query: { dryRun } },
        })),
      }).catch(setError);
    };
    const inPlace = (field: Field, member: "fieldComment" | "description", label: string, hint: string) => (
      <InPlace label={`${label}, ${field.fieldName}`} text={field[member] ?? ""} mayEdit={mayEdit} isLong hint={hint} closedBy={CLOSED_BY}
        read={async () => {
          const { value, tag } = await readField(id, field.id);
          // Others changed it: the table shows it too.
          if (value[member] !== field[member]) void queries.invalidateQueries({ queryKey: ["tables", id] });
          return { text: value[member] ?? "", tag };
        }}
        save={async (text, tag) => {
          const send = (dryRun: boolean) => changed(api.PUT("/api/v1/tables/{id}/fields/{fieldId}", {
            params: { path: { id, fieldId: field.id }, query: { dryRun }, header: ifMatch(tag) }, body: { [member]: orNull(text) },
          }));
          if (member === "fieldComment") return start({ tableId: id, title: tt.changeFieldOf(field.fieldName), action: tt.run, send });
          await send(false);
          await queries.invalidateQueries({ queryKey: ["tables"] });
          return true;
        }} />
    );
    const columns: Columns<Field> = [
      { id: "order", header: "#", accessorFn: (field) => field.fieldOrder },
      {
        id: "name", header: t.name, accessorFn: (field) => field.fieldName,
        cell: ({ row: { original: field } }) => (
          <span className="row tables-field">
            <span className="strong">{marked(field.fieldName)}</span>
            {field.isPrimaryKey && <span className="tag" title={tt.primaryKey}><Icon name="key" /> {tt.key}</span>}
          </span>
        ),
      },
      { id: "type", header: tt.type, accessorFn: (field) => field.fieldType, cell: ({ row }) => <code className="tables-type">{row.original.fieldType}</code> },
      {
        id: "nullable", header: tt.nullable, accessorFn: (field) => field.isNullable,
        cell: ({ row }) => (row.original.isNullable ? <span className="faint">{tt.yes}</span> : <Tag>{tt.notNull}</Tag>),
      },
      {
        id: "default", header: tt.default, accessorFn: (field) => field.defaultValue ?? "",
        cell: ({ row: { original: field } }) => (field.defaultValue === null ? <span className="faint">–</span>
          : <code>{field.defaultValue === "" ? "''" : marked(field.defaultValue)}</code>),
      },
      {
        id: "comment", header: t.comment, accessorFn: (field) => field.fieldComment ?? "",
        cell: ({ row: { original: field } }) => inPlace(field, "fieldComment", t.comment, tt.commentHint),
      },
      {
        id: "description", header: t.description, accessorFn: (field) => field.description ?? "",
        cell: ({ row: { original: field } }) => inPlace(field, "description", t.description, tt.descriptionHint),
      },
    ];
    if (mayEdit || mayDelete) {
      columns.push({
        id: "actions", header: "", enableSorting: false,
        cell: ({ row: { original: field } }) => (
          <Menu label={tt.actionsOf(field.fieldName)} entries={[
            ...(mayEdit ? [{ id: "edit", label: tt.changeField, icon: "edit" as const, onAction: () => setEdited(field) }] : []),
            ...(mayDelete ? [{ id: "delete", label: tt.deleteField, icon: "bin" as const, isDanger: true, onAction: () => remove(field) }] : []),
          ]} />
        ),
      });
    }
    return columns;
  }, [t, tt, id, start, mayEdit, mayDelete]);
  const add = isActive && may("createField") && <Button icon="plus" onPress={() => setEdited("new")}>{tt.addField}</Button>;
  return (
    <>
      <div className="filters">
        <SearchField label={tt.findField} value={typed} onChange={setTyped} />
        {add}
      </div>
      <Failure error={error} />
      <DataTable rows={fields} columns={columns} label={tt.fields} keyOf={(field) => String(field.id)}
        empty={table.fields.length === 0 ? <Empty title={tt.noFields}>{tt.noFieldsLead}</Empty> : <Empty icon="search" title={tt.noFieldFits} />} />
      {edited !== null && (
        <FieldForm key={edited === "new" ? "new" : edited.id} table={table} field={edited === "new" ? null : edited} start={start}
          onClose={() => setEdited(null)} />
      )}
    </>
  );
}
