/** One record in full: who, what, the definition before and after, and what else happened to the resource. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Actions, Button, Dialog } from "../../ui/controls";
import { CopyButton } from "../../ui/copy";
import { marked } from "../../ui/marks";
import { Facts, Loaded, Tag, Time } from "../../ui/page";
import { type AuditRecord, changeOf, pageOf, shortDigest } from "./audit";
import { TEXTS } from "./texts";
import { CODES } from "./texts-codes";

const HISTORY_MAX = 20;

/** A code with its name, where it has one. */
export function Named({ code, names }: { code: string; names: { [code: string]: string } }) {
  return names[code] === undefined ? <code>{code}</code> : <>{names[code]} <code className="small">{code}</code></>;
}

/** Who it was. The command line of the server's machine has no name of its own. */
export function Actor({ record: { actor, actorKind } }: { record: AuditRecord }) {
  const t = useTexts(TEXTS);
  if (actorKind === "command_line") return <>{t.kinds[actorKind]}</>;
  return <>{actor} <span className="small">{t.kinds[actorKind] ?? actorKind}</span></>;
}

export function Record({ record, onClose, onFilter }: { record: AuditRecord; onClose: () => void; onFilter: () => void }) {
  const t = useTexts(TEXTS);
  const codes = useTexts(CODES);
  const page = pageOf(record);
  const name = `${t.resources[record.resource] ?? record.resource} ${record.resourceId ?? ""}`;
  const isRefused = record.outcome !== "success";
  return (
    <Dialog title={t.detailsTitle(record.id)} isOpen isWide isDismissable onClose={onClose}>
      <Facts facts={[
        [t.time, <Time value={record.time} />],
        [t.actor, <Actor record={record} />],
        [t.operation, <Named code={record.operation} names={codes.operations} />],
        [t.resource, page ? <Link to={page.to} search={(page.search ?? {}) as never}>{marked(name)}</Link> : name],
        [t.outcome, isRefused ? <Tag tone="bad"><Named code={record.outcome} names={codes.outcomes} /></Tag> : <Tag tone="good">{t.success}</Tag>],
        [t.status, record.status],
        [t.request, <><code>{record.requestId}</code> <CopyButton text={record.requestId} /></>],
      ]} />
      <h3>{t.change}</h3>
      <p className="strong">{t.changes[changeOf(record)]}</p>
      {!isRefused && (record.beforeDigest !== null || record.afterDigest !== null) && (
        <>
          <div className="admin-digests">
            <div><span className="small">{t.before}</span><Digest value={record.beforeDigest} absent={t.noDefinition} /></div>
            <div><span className="small">{t.after}</span><Digest value={record.afterDigest} absent={t.isGone} isChanged={record.beforeDigest !== record.afterDigest} /></div>
          </div>
          <p className="small">{t.digestNote}</p>
        </>
      )}
      {record.resourceId !== null && (
        <>
          <h3>{t.history}</h3>
          <History record={record} />
          <Actions><Button onPress={onFilter}>{t.more}</Button></Actions>
        </>
      )}
    </Dialog>
  );
}

function Digest({ value, absent, isChanged }: { value: string | null; absent: string; isChanged?: boolean }) {
  if (value === null) return <span className="faint">{absent}</span>;
  return <code title={value} className={isChanged ? "admin-digest changed" : "admin-digest"}>{shortDigest(value)}</code>;
}

function History({ record }: { record: AuditRecord }) {
  const t = useTexts(TEXTS);
  const codes = useTexts(CODES);
  const query = { resource: record.resource, resourceId: record.resourceId ?? "", pageSize: HISTORY_MAX };
  const history = useQuery({
    queryKey: ["audit", "history", query],
    queryFn: () => data<Schemas["PageOfAuditRecord"]>(api.GET("/api/v1/audit", { params: { query } })),
  });
  const noteOf = (one: AuditRecord) => {
    if (one.id === record.id) return t.thisRecord;
    if (record.beforeDigest !== null && one.afterDigest === record.beforeDigest && one.id < record.id) return t.sameAsBefore;
    if (record.afterDigest !== null && one.afterDigest === record.afterDigest) return t.sameAsAfter;
    return "";
  };
  return (
    <Loaded query={history}>
      {(page) => (page.records.length < 2 ? <p className="faint">{t.noHistory}</p> : (
        <div className="tablebox admin-wide" tabIndex={0} role="region" aria-label={t.history}>
          <table>
            <thead>
              <tr><th scope="col">{t.time}</th><th scope="col">{t.actor}</th><th scope="col">{t.operation}</th><th scope="col">{t.after}</th><th scope="col" /></tr>
            </thead>
            <tbody>
              {page.records.map((one) => (
                <tr key={one.id} className={one.id === record.id ? "admin-this" : undefined}>
                  <td><Time value={one.time} /></td>
                  <td><Actor record={one} /></td>
                  <td><Named code={one.operation} names={codes.operations} /></td>
                  <td>
                    {one.outcome === "success"
                      ? <Digest value={one.afterDigest} absent="–" isChanged={one.beforeDigest !== one.afterDigest} />
                      : <Tag tone="bad" title={one.outcome}>{codes.outcomes[one.outcome] ?? one.outcome}</Tag>}
                  </td>
                  <td className="small">{noteOf(one)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ))}
    </Loaded>
  );
}
