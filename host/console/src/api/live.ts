/** What changes on the server is shown at once: a stream of changes tells which queries to read again. */
import { type Query, type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { meQuery } from "./me";

/** The data of an event; without a topic: read everything again. Without an id: any of the topic. */
interface Told {
  seq: number;
  /** The stream begins here, and nothing changed. */
  isReady?: boolean;
  topic?: string;
  id?: string | null;
}

/** The first elements of the keys of the queries that show a topic. */
const SHOWN_BY: Record<string, readonly string[]> = {
  tables: ["tables", "lineage"],
  tasks: ["tasks", "workflows", "lineage"],
  workflows: ["workflows", "lineage"],
  executions: ["executions", "workflows", "run-details"],
  backfills: ["backfills", "workflows"],
  datasources: ["datasources", "tables"],
};

/** The `meta` of a query that runs a statement in a customer's database: a change of another topic does not repeat it. */
export const RUNS_STATEMENT = { runsStatement: true };

/** Many changes at once are one reading. While they go on, the time between two readings grows to the greatest. */
const GATHER_MS = 150;
const GATHER_MAX_MS = 2_000;
/** The pauses before a stream that was refused is opened again: the first, and the longest. */
const AGAIN_MS = 1_000;
const AGAIN_MAX_MS = 30_000;
/** The server sends `alive` far more often. A stream that is silent for longer than this is dead. */
const SILENCE_MS = 45_000;

/** Only one tab of the browser reads the stream, and tells the others: a browser has few connections to a server. */
const LOCK = "lakeport.events";

/** Follows the changes while the page is open and its caller is signed in. */
export function useLive(isSignedIn: boolean): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (!isSignedIn) return;
    const ended = new AbortController();
    const tell = reading(queries, ended.signal);
    const channel = new BroadcastChannel(LOCK);
    let seen: number | undefined;
    let asking: ReturnType<typeof setTimeout> | undefined;
    // The stream breaks when the server goes away or the session ends. The answer for the caller says which.
    const ask = () => {
      asking = undefined;
      void queries.invalidateQueries({ queryKey: meQuery.queryKey }, { cancelRefetch: false });
    };
    const take = (told: Told | null) => {
      if (told === null) {
        // Not at once: a page that ends a session, as the first token does that of local mode, begins another one.
        asking ??= setTimeout(ask, AGAIN_MS);
        return;
      }
      seen = told.seq;
      if (!told.isReady) tell(told);
    };
    channel.onmessage = (message: MessageEvent<Told | null>) => take(message.data);
    const lead = () => follow(() => seen, (told) => {
      take(told);
      channel.postMessage(told);
    }, ended.signal);
    // Without locks, as by plain HTTP from another machine, every tab reads for itself.
    if ("locks" in navigator) void navigator.locks.request(LOCK, { signal: ended.signal }, lead).catch(() => undefined);
    else void lead();
    return () => {
      ended.abort();
      clearTimeout(asking);
      channel.close();
    };
  }, [queries, isSignedIn]);
}

/** Invalidates what the events are about. */
function reading(queries: QueryClient, ended: AbortSignal): (told: Told) => void {
  const waiting = new Map<string, Told>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pause = GATHER_MS;
  let last = 0;
  const readAgain = (predicate: (query: Query) => boolean) => void queries.invalidateQueries({ predicate }, { cancelRefetch: false });
  const flush = () => {
    timer = undefined;
    last = Date.now();
    const events = [...waiting.values()];
    waiting.clear();
    const isShown = (query: Query) => events.some((told) => shows(query, told));
    // A reading that is under way may have missed the change: it is left to its end, and repeated then.
    for (const query of queries.getQueryCache().findAll({ predicate: isShown, fetchStatus: "fetching" })) {
      const repeat = () => readAgain((one) => one === query);
      query.promise?.then(repeat, repeat);
    }
    readAgain(isShown);
  };
  ended.addEventListener("abort", () => clearTimeout(timer));
  return (told) => {
    waiting.set(`${told.topic}/${told.id}`, told);
    if (timer !== undefined) return;
    pause = Date.now() - last > pause ? GATHER_MS : Math.min(2 * pause, GATHER_MAX_MS);
    timer = setTimeout(flush, pause);
  };
}

function shows({ queryKey: [first, second], meta }: Query, { topic, id }: Told): boolean {
  if (topic === undefined) return true;
  // Every change is in the audit log.
  if (first === "audit") return true;
  if (!(SHOWN_BY[topic] ?? [topic]).includes(String(first))) return false;
  if (first !== topic) return meta?.runsStatement !== true;
  // A number is the id of one of the topic; the other keys are of lists.
  return typeof second !== "number" || id === undefined || id === null || id === String(second);
}

/**
 * Reads the stream until the page is left; null tells that it broke. A browser reconnects by itself, but not to a server
 * that refuses it once, and it does not notice a connection that is dead.
 */
function follow(seen: () => number | undefined, take: (told: Told | null) => void, ended: AbortSignal): Promise<void> {
  // The lock may be given after the page was left.
  if (ended.aborted) return Promise.resolve();
  return new Promise((done) => {
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let silence: ReturnType<typeof setTimeout> | undefined;
    let heardAt = 0;
    let pause = AGAIN_MS;
    const alive = () => {
      heardAt = Date.now();
      clearTimeout(silence);
      silence = setTimeout(reopen, SILENCE_MS);
    };
    const reopen = () => {
      source?.close();
      clearTimeout(timer);
      take(null);
      open();
    };
    // Timers stand still while the machine sleeps.
    const look = () => {
      if (Date.now() - heardAt > SILENCE_MS) reopen();
    };
    const open = () => {
      alive();
      const after = seen();
      source = new EventSource(after === undefined ? "/api/v1/events" : `/api/v1/events?after=${after}`);
      const heard = (event: MessageEvent<string>) => {
        alive();
        take(JSON.parse(event.data) as Told);
      };
      for (const kind of ["changed", "deleted", "everything"]) source.addEventListener(kind, heard);
      source.addEventListener("alive", alive);
      source.addEventListener("ready", (event: MessageEvent<string>) => {
        alive();
        pause = AGAIN_MS;
        take({ seq: (JSON.parse(event.data) as Told).seq, isReady: true });
      });
      source.addEventListener("error", () => {
        take(null);
        if (source?.readyState !== EventSource.CLOSED) return;
        clearTimeout(silence);
        timer = setTimeout(open, pause);
        pause = Math.min(pause * 2, AGAIN_MAX_MS);
      });
    };
    ended.addEventListener("abort", () => {
      source?.close();
      clearTimeout(timer);
      clearTimeout(silence);
      done();
    });
    for (const kind of ["online", "pageshow"]) window.addEventListener(kind, look, { signal: ended });
    document.addEventListener("visibilitychange", look, { signal: ended });
    open();
  });
}
