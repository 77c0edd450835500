/** What every page is made of: its head, states, notes and small facts. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useEffect } from "react";
import { ProgressBar } from "react-aria-components";
import { type Detail, Failed } from "../api/client";
import { useFormat, useTexts } from "../i18n";
import { Button } from "./controls";
import { Icon, type IconName } from "./icons";
import { marked, spelled } from "./marks";
import { TEXTS } from "./texts";

/** A page: title, actions to its right, content. */
export function Page({ title, lead, actions, children, path }: {
  title: string; lead?: ReactNode; actions?: ReactNode; children: ReactNode;
  /** The pages above this one. */
  path?: readonly { to: string; label: string }[];
}) {
  const t = useTexts(TEXTS);
  useEffect(() => {
    document.title = `${spelled(title)} · Lakeport`;
  }, [title]);
  return (
    <div className="page">
      <header className="pagehead">
        <div>
          {path && path.length > 0 && (
            <nav className="crumbs" aria-label={t.breadcrumb}>
              {path.map((step) => <span key={step.to}><Link to={step.to}>{marked(step.label)}</Link> / </span>)}
            </nav>
          )}
          <h1>{marked(title)}</h1>
          {lead && <p className="lead">{marked(lead)}</p>}
        </div>
        {actions && <div className="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A titled part of a page. */
export function Section({ title, actions, children }: { title: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className="section">
      <header><h2>{marked(title)}</h2>{actions && <div className="actions">{actions}</div>}</header>
      {children}
    </section>
  );
}

/**
 * A failure as the server says it: its message, what is wrong with which member, and the request's id. `shown` are the
 * members that have a field, which says what is wrong with it: here it is not said again.
 */
export function Failure({ error, shown = [], onRetry }: { error: unknown; shown?: readonly string[]; onRetry?: () => void }) {
  const t = useTexts(TEXTS);
  if (!error) return null;
  const failed = error instanceof Failed ? error : null;
  const details = failed?.details ?? [];
  const isShown = ({ field }: Detail) => shown.some((one) => field === one || field?.startsWith(`${one}.`));
  const rest = details.filter((detail) => !isShown(detail));
  // The message of an invalid form is that of its members, one after the other.
  const said = [details.map(({ field, message }) => `${field}: ${message}`), details.map(({ message }) => message)];
  const repeats = details.length > 0 && said.some((one) => one.join("; ") === failed?.message);
  return (
    <div className="note failure" role="alert">
      <Icon name="warning" />
      <div>
        {!repeats ? <p>{marked(messageOf(error, t))}</p> : rest.length < details.length && <p>{t.seeFields}</p>}
        {rest.length === 1 && <p><Said detail={rest[0]!} /></p>}
        {rest.length > 1 && <ul>{rest.map((detail, place) => <li key={place}><Said detail={detail} /></li>)}</ul>}
        {failed?.requestId && <p className="small">{t.request} <code>{failed.requestId}</code></p>}
        {onRetry && <Button icon="refresh" onPress={onRetry}>{t.again}</Button>}
      </div>
    </div>
  );
}

function Said({ detail }: { detail: Detail }) {
  return <>{detail.field && <code>{detail.field}</code>} {marked(detail.message)}</>;
}

/** The server's own message, or what the console says where there is none. */
function messageOf(error: unknown, t: (typeof TEXTS)["en"]): string {
  if (error instanceof Failed && error.code === "unreachable") return t.unreachable;
  if (error instanceof Failed && error.code === "no_such_path") return t.nothingHere;
  if (error instanceof Failed && error.code === "unknown") return t.answered(error.status);
  return error instanceof Error ? error.message : String(error);
}

/** What the server says of one member of a form. */
export function errorOf(error: unknown, field: string): string | undefined {
  if (!(error instanceof Failed)) return undefined;
  return error.details.filter((detail) => detail.field === field).map((detail) => detail.message).join("; ") || undefined;
}

/** An empty list: what it is, and what to do next. */
export function Empty({ icon = "table", title, children }: { icon?: IconName; title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <Icon name={icon} />
      <p className="strong">{title}</p>
      {children && <div>{children}</div>}
    </div>
  );
}

/** Shown while something loads. */
export function Loading({ lines = 4 }: { lines?: number }) {
  const t = useTexts(TEXTS);
  return (
    <div className="loading" role="status" aria-label={t.loading}>
      {Array.from({ length: lines }, (_, place) => <div key={place} className="bone" />)}
    </div>
  );
}

/** What a query has: loading, its failure with a retry, its data. Data that is kept stands below a later failure. */
export function Loaded<T>({ query, children }: {
  query: { data: T | undefined; error: unknown; isPending: boolean; refetch: () => unknown };
  children: (data: T) => ReactNode;
}) {
  if (query.data === undefined && !query.error) return <Loading />;
  return (
    <>
      <Failure error={query.error} onRetry={() => query.refetch()} />
      {query.data !== undefined && children(query.data)}
    </>
  );
}

export type Tone = "plain" | "good" | "bad" | "warn" | "busy";

export function Tag({ children, tone = "plain", title }: { children: ReactNode; tone?: Tone; title?: string }) {
  return <span className={`tag ${tone}`} title={title}>{marked(children)}</span>;
}

const TONES: Record<string, Tone> = {
  success: "good", online: "good", active: "good", published: "good", in_sync: "good", approved: "good", completed: "good",
  failed: "bad", rejected: "bad", quarantined: "bad", missing: "bad", killed: "bad", error: "bad",
  running: "busy", pending: "busy", waiting: "busy", canary: "busy", stopping: "busy", reviewing: "busy", deploying: "busy",
  outdated: "warn", paused: "warn", suspended: "warn", deprecated: "warn", cancelled: "warn", staged: "warn",
};

/** The colour of a state. */
export function toneOf(state: string | null | undefined): Tone {
  return (state && Object.hasOwn(TONES, state) && TONES[state]) || "plain";
}

/** A state in the reader's language, given the texts' `states`. */
export function stateText(states: Record<string, string>, state: string): string {
  return states[state] ?? state;
}

/** A state, by its name in the interface, in its colour. */
export function State({ value }: { value: string | null | undefined }) {
  const t = useTexts(TEXTS);
  if (!value) return <span className="faint">–</span>;
  const states: Record<string, string> = t.states;
  return <Tag tone={toneOf(value)}>{states[value] ?? value}</Tag>;
}

export function Time({ value, isAgo }: { value: string | null | undefined; isAgo?: boolean }) {
  const format = useFormat();
  if (!value) return <span className="faint">–</span>;
  return <time dateTime={value} title={format.exact(value)}>{isAgo ? format.ago(value) : format.time(value)}</time>;
}

/** Names and values side by side; an absent value is a dash. */
export function Facts({ facts }: { facts: readonly (readonly [ReactNode, ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value], place) => (
        <div key={place}><dt>{name}</dt><dd>{value === null || value === undefined || value === "" ? "–" : marked(value)}</dd></div>
      ))}
    </dl>
  );
}

/** How far a long action is; without a value: that it goes on. */
export function Progress({ label, value, of }: { label: string; value?: number; of?: number }) {
  const isKnown = value !== undefined && of !== undefined && of > 0;
  return (
    <ProgressBar aria-label={label} isIndeterminate={!isKnown} {...(isKnown ? { value: (100 * value) / of } : {})} className="progress">
      {({ percentage }) => (
        <>
          <span>{label}{isKnown && ` ${value} / ${of}`}</span>
          <span className="bar"><span className="fill" style={{ inlineSize: isKnown ? `${percentage}%` : "30%" }} /></span>
        </>
      )}
    </ProgressBar>
  );
}

/** Text of a program: SQL, DDL, a log. It wraps on request only. */
export function Code({ children, isTall }: { children: string; isTall?: boolean }) {
  return <pre className={isTall ? "code tall" : "code"} tabIndex={0}><code>{marked(children)}</code></pre>;
}
