/** The fields of two versions of a table side by side. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Checkbox } from "../../ui/controls";
import { spelled } from "../../ui/marks";
import { Loaded, Tag, type Tone } from "../../ui/page";
import { TABLE_TEXTS } from "./texts-table";

type Past = Schemas["PastField"];
type Kind = "added" | "removed" | "changed" | "same";

interface Pair {
  before: Past | undefined;
  after: Past | undefined;
  kind: Kind;
}

const MEMBERS = ["fieldName", "fieldType", "isPrimaryKey", "isNullable", "defaultValue", "fieldComment"] as const;
const TONES: Record<Kind, Tone> = { added: "good", removed: "bad", changed: "warn", same: "plain" };

const versionQuery = (id: number, version: number) => ({
  queryKey: ["tables", id, "schema-version", version],
  queryFn: () => data(api.GET("/api/v1/tables/{id}/schema-history/{version}", { params: { path: { id, version } } })),
  // A version does not change.
  staleTime: Infinity,
});

/** The names that fields of the older version have in the newer one, as far as the changes between are known. */
function renames(changes: readonly Schemas["SchemaChange"][], from: number, to: number): Map<string, string> {
  const names = new Map<string, string>();
  const between = changes.filter((change) => change.version > from && change.version <= to).sort((a, b) => a.version - b.version);
  for (const part of between.flatMap((change) => change.changes)) {
    if (part.what !== "field_renamed" || typeof part.before !== "string" || part.field === null) continue;
    const first = [...names].find(([, now]) => now === part.before)?.[0] ?? part.before;
    names.set(first, part.field);
  }
  return names;
}

function pairs(before: Past[], after: Past[], renamed: Map<string, string>): Pair[] {
  const left = new Map(before.map((field) => [renamed.get(field.fieldName) ?? field.fieldName, field]));
  const both = after.map((field): Pair => {
    const old = left.get(field.fieldName);
    left.delete(field.fieldName);
    const kind = !old ? "added" : MEMBERS.every((member) => old[member] === field[member]) ? "same" : "changed";
    return { before: old, after: field, kind };
  });
  return [...both, ...[...left.values()].map((field): Pair => ({ before: field, after: undefined, kind: "removed" }))];
}

export function SchemaDifference({ id, from, to, changes }: {
  id: number; from: number; to: number; changes: readonly Schemas["SchemaChange"][];
}) {
  const t = useTexts(TABLE_TEXTS);
  const [isAll, setAll] = useState(false);
  // Whichever is chosen first, the older one stands at the left.
  const [older, newer] = from <= to ? [from, to] : [to, from];
  const before = useQuery(versionQuery(id, older));
  const after = useQuery(versionQuery(id, newer));
  return (
    <Loaded query={before}>
      {(left) => (
        <Loaded query={after}>
          {(right) => {
            const all = pairs(left.fields, right.fields, renames(changes, older, newer));
            const shown = isAll ? all : all.filter((pair) => pair.kind !== "same");
            return (
              <>
                <div className="row">
                  {(["added", "changed", "removed"] as const).map((kind) => (
                    <Tag key={kind} tone={TONES[kind]}>{t.kinds[kind]} {all.filter((pair) => pair.kind === kind).length}</Tag>
                  ))}
                  <Checkbox label={t.showSame} isSelected={isAll} onChange={setAll} />
                </div>
                {shown.length === 0 ? <p className="faint">{t.sameFields}</p> : <SideBySide pairs={shown} older={older} newer={newer} />}
              </>
            );
          }}
        </Loaded>
      )}
    </Loaded>
  );
}

function SideBySide({ pairs, older, newer }: { pairs: Pair[]; older: number; newer: number }) {
  const t = useTexts(TABLE_TEXTS);
  return (
    <div className="tablebox" tabIndex={0} role="region" aria-label={t.compare}>
      <table className="tables-versions">
        <thead>
          <tr><th scope="col" /><th scope="col">{t.version(older)}</th><th scope="col">{t.version(newer)}</th></tr>
        </thead>
        <tbody>
          {pairs.map((pair) => (
            <tr key={`${pair.before?.fieldName ?? ""} ${pair.after?.fieldName ?? ""}`} className={`tables-${pair.kind}`}>
              <td><Tag tone={TONES[pair.kind]}>{t.kinds[pair.kind]}</Tag></td>
              <td>{pair.before && <OneField field={pair.before} other={pair.after} isBefore />}</td>
              <td>{pair.after && <OneField field={pair.after} other={pair.before} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A field; what the other version has not is marked. */
function OneField({ field, other, isBefore }: { field: Past; other: Past | undefined; isBefore?: boolean }) {
  const t = useTexts(TABLE_TEXTS);
  const marked = (member: (typeof MEMBERS)[number], value: string) => {
    if (value === "") return null;
    const text = spelled(value);
    if (other === undefined || other[member] === field[member]) return <span>{text}</span>;
    return isBefore ? <del>{text}</del> : <ins>{text}</ins>;
  };
  return (
    <>
      <div className="row">
        <span className="strong">{marked("fieldName", field.fieldName)}</span>
        <code>{marked("fieldType", field.fieldType)}</code>
        {marked("isPrimaryKey", field.isPrimaryKey ? t.schemaMembers.isPrimaryKey : "")}
        {marked("isNullable", field.isNullable ? t.schemaMembers.isNullable : t.notNull)}
        {marked("defaultValue", field.defaultValue === null ? "" : `${t.schemaMembers.defaultValue} ${field.defaultValue === "" ? "''" : field.defaultValue}`)}
      </div>
      <div className="small">{marked("fieldComment", field.fieldComment ?? "")}</div>
    </>
  );
}
