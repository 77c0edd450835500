/** The versions of a table's schema, and two of them side by side. */
import { useQuery } from "@tanstack/react-query";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button, Select } from "../../ui/controls";
import { marked } from "../../ui/marks";
import { Empty, Loaded, Section, Tag, Time } from "../../ui/page";
import { Pager } from "../../ui/table";
import { SchemaDifference } from "./SchemaDifference";
import { TABLE_TEXTS } from "./texts-table";

type Change = Schemas["SchemaChange"];

const PAGE_SIZE = 100;

export function History({ id }: { id: number }) {
  const t = useTexts(TABLE_TEXTS);
  const { number, set } = useAddress();
  const page = number("page", 1);
  const query = useQuery({
    queryKey: ["tables", id, "schema-history", page],
    queryFn: () => data(api.GET("/api/v1/tables/{id}/schema-history", { params: { path: { id }, query: { pageNum: page, pageSize: PAGE_SIZE } } })),
  });
  return (
    <Loaded query={query}>
      {({ records, total }) => {
        const newest = records[0]?.version;
        if (newest === undefined) return <Empty icon="clock" title={t.noHistory}>{t.noHistoryLead}</Empty>;
        const to = number("to", newest);
        const from = number("from", Math.max(1, to - 1));
        const choices = records.map((change) => ({ value: String(change.version), label: t.versionOf(change.version, change.at) }));
        // A version of another page can be compared too.
        for (const version of [from, to]) {
          if (!choices.some((choice) => choice.value === String(version))) choices.push({ value: String(version), label: t.version(version) });
        }
        return (
          <>
            {total > 1 && (
              <Section title={t.compare} actions={(
                <div className="row">
                  <Select label={t.before} isLabelHidden value={String(from)} choices={choices} onChange={(value) => set({ from: value }, true)} />
                  <span className="faint" aria-hidden="true">→</span>
                  <Select label={t.after} isLabelHidden value={String(to)} choices={choices} onChange={(value) => set({ to: value }, true)} />
                </div>
              )}>
                <SchemaDifference id={id} from={from} to={to} changes={records} />
              </Section>
            )}
            <ol className="tables-plain stack">
              {records.map((change) => (
                <li key={change.version} className="section">
                  <div className="row">
                    <span className="strong">{t.version(change.version)}</span>
                    <Tag>{t.sources[change.source]}</Tag>
                    <Time value={change.at} />
                    <span className="faint">{change.by ?? t.unknownAuthor}</span>
                    {change.version > 1 && total > 1 && (
                      <Button kind="quiet" onPress={() => set({ from: change.version - 1, to: change.version }, true)}>{t.compareWithBefore}</Button>
                    )}
                  </div>
                  <Parts parts={change.changes} />
                </li>
              ))}
            </ol>
            <Pager page={page} pageSize={PAGE_SIZE} total={total} onChange={(next) => set({ page: next }, true)} />
          </>
        );
      }}
    </Loaded>
  );
}

/** As many differences of a version are listed before the reader asks for all. */
const SHORT = 12;

function Parts({ parts }: { parts: Change["changes"] }) {
  const t = useTexts(TABLE_TEXTS);
  const list = (some: Change["changes"]) => (
    <ul className="tables-plain">{some.map((part, place) => <li key={place}><Part part={part} /></li>)}</ul>
  );
  return (
    <>
      {list(parts.slice(0, SHORT))}
      {parts.length > SHORT && <details><summary>{t.furtherParts(parts.length - SHORT)}</summary>{list(parts.slice(SHORT))}</details>}
    </>
  );
}

function Part({ part }: { part: Change["changes"][number] }) {
  const t = useTexts(TABLE_TEXTS);
  const whats: Record<string, string> = t.whats;
  const members: Record<string, string> = t.schemaMembers;
  const value = (one: unknown) => (one === null || one === undefined ? "–" : typeof one === "string" ? one : JSON.stringify(one));
  return (
    <>
      {whats[part.what] ?? part.what}
      {part.field !== null && part.what !== "field_renamed" && <> <code>{marked(part.field)}</code></>}
      {part.member !== null && <> · {members[part.member] ?? part.member}</>}
      {(part.before !== null || part.after !== null) && (
        <span className="small">
          {" "}{part.before !== null && <del>{value(part.before)}</del>}
          {part.before !== null && part.after !== null && " → "}{part.after !== null && value(part.after)}
        </span>
      )}
    </>
  );
}
