/** What a table of Doris or StarRocks has besides: its model, keys, partitions and buckets. */
import type { Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { TextField } from "../../ui/controls";
import { errorOf } from "../../ui/page";
import { orNull } from "./api";
import { TEXTS } from "./texts";

export const DORIS_MEMBERS = ["tableModel", "keyColumns", "partitionColumn", "distributionColumn", "bucketNum", "replicaNum"] as const;

export type DorisTexts = Record<(typeof DORIS_MEMBERS)[number], string>;

export const NO_DORIS: DorisTexts = {
  tableModel: "", keyColumns: "", partitionColumn: "", distributionColumn: "", bucketNum: "", replicaNum: "",
};

/** As the interface takes them; a number that is none is sent as it is, so that the server says so. */
export function dorisBody(texts: Partial<DorisTexts>): Pick<Schemas["UpdateTable"], (typeof DORIS_MEMBERS)[number]> {
  const number = (text: string) => (text.trim() === "" ? null : Number(text));
  return Object.fromEntries(
    Object.entries(texts).map(([member, text]) => [member, member.endsWith("Num") ? number(text) : orNull(text)]),
  );
}

export function DorisMembers({ values, onChange, error, isPhysical }: {
  values: DorisTexts; onChange: (values: DorisTexts) => void; error: unknown;
  /** A physical table keeps all but its numbers. */
  isPhysical?: boolean;
}) {
  const t = useTexts(TEXTS);
  return (
    <div className="columns tables-pair">
      {DORIS_MEMBERS.map((member) => (
        <TextField key={member} label={t.definition[member]} value={values[member]} type={member.endsWith("Num") ? "number" : "text"}
          isDisabled={isPhysical === true && !member.endsWith("Num")} error={errorOf(error, member)}
          onChange={(value) => onChange({ ...values, [member]: value })} />
      ))}
    </div>
  );
}
