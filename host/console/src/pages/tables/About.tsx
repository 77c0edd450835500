/** What the catalogue knows about a table besides its schema, edited where it stands. */
import { Link } from "@tanstack/react-router";
import { api } from "../../api/client";
import { useMay } from "../../api/me";
import { queries } from "../../api/query";
import { useFormat, useTexts } from "../../i18n";
import { Facts, Section, Tag, Time } from "../../ui/page";
import { changed, ifMatch, orNull, reread, splitTags, type TableDetail, type Tagged, tableQuery } from "./api";
import type { Wanted } from "./change";
import { InPlace } from "./InPlace";
import { TEXTS } from "./texts";
import { TABLE_TEXTS } from "./texts-table";

const MEMBERS = ["owner", "layer", "businessDomain", "dataDomain"] as const;
/** The member of the catalogue's address that lists the tables with the same value. */
const FACET_OF = { owner: "owner", layer: "layer", businessDomain: "domain", dataDomain: "data" } as const;

export function About({ table, start }: { table: TableDetail; start: (wanted: Wanted) => Promise<boolean> }) {
  const t = useTexts(TEXTS);
  const tt = useTexts(TABLE_TEXTS);
  const format = useFormat();
  const may = useMay();
  const mayEdit = may("updateTable") && table.status === "active";
  const path = { id: table.id };
  const read = (of: (table: TableDetail) => string) => async (isFresh: boolean) => {
    const kept = queries.getQueryData<Tagged<TableDetail>>(tableQuery(table.id).queryKey);
    const { value, tag } = !isFresh && kept ? kept : await reread(table.id);
    return { text: of(value), tag };
  };
  // These members stand in no database.
  const put = (member: string, value: (text: string) => unknown) => async (text: string, tag: string | undefined) => {
    await changed(api.PUT("/api/v1/tables/{id}", { params: { path, header: ifMatch(tag) }, body: { [member]: value(text) } }));
    await queries.invalidateQueries({ queryKey: ["tables"] });
    return true;
  };
  const saveComment = (text: string, tag: string | undefined) => start({
    tableId: table.id, title: tt.changeComment, action: tt.run,
    send: (dryRun) => changed(api.PUT("/api/v1/tables/{id}/comment", {
      params: { path, query: { dryRun }, header: ifMatch(tag) }, body: { comment: orNull(text) },
    })),
  });
  return (
    <Section title={tt.about}>
      <dl className="tables-about">
        <dt>{t.comment}</dt>
        <dd><InPlace label={t.comment} text={table.tableComment ?? ""} mayEdit={mayEdit} isLong hint={tt.commentHint}
          read={read((one) => one.tableComment ?? "")} save={saveComment} /></dd>
        <dt>{t.description}</dt>
        <dd><InPlace label={t.description} text={table.description ?? ""} mayEdit={mayEdit} isLong hint={tt.descriptionHint}
          read={read((one) => one.description ?? "")} save={put("description", orNull)} /></dd>
        <dt>{t.tags}</dt>
        <dd><InPlace label={t.tags} text={table.tags.join(", ")} mayEdit={mayEdit} hint={t.tagsHint}
          shown={table.tags.length === 0 ? undefined : (
            <span className="row">
              {table.tags.map((tag) => <Link key={tag} to="/tables" search={{ tag } as never}><Tag>{tag}</Tag></Link>)}
            </span>
          )}
          read={read((one) => one.tags.join(", "))} save={put("tags", splitTags)} /></dd>
        {MEMBERS.map((member) => {
          const value = table[member];
          return [
            <dt key={`${member} name`}>{t[member]}</dt>,
            <dd key={member}><InPlace label={t[member]} text={value ?? ""} mayEdit={mayEdit}
              shown={value && <Link to="/tables" search={{ [FACET_OF[member]]: value } as never}>{value}</Link>}
              read={read((one) => one[member] ?? "")} save={put(member, orNull)} /></dd>,
          ];
        })}
      </dl>
      <Facts facts={[
        [t.rows, table.rowCount === null ? null : format.number(table.rowCount)],
        [t.size, table.dataSize === null ? null : format.bytes(table.dataSize)],
        [tt.indexSize, table.indexSize === null ? null : format.bytes(table.indexSize)],
        [tt.measured, table.statisticsTime && <Time value={table.statisticsTime} />],
        [tt.created, <Time value={table.createdAt} />],
        [t.updated, <Time value={table.updatedAt} />],
        ...(["tableModel", "keyColumns", "partitionColumn", "distributionColumn", "bucketNum", "replicaNum"] as const)
          .filter((member) => table[member] !== null)
          .map((member) => [t.definition[member], String(table[member])] as const),
      ]} />
    </Section>
  );
}
