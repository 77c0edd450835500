/** What changes on the server is shown at once: a stream of changes tells which queries to read again. */
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

/** The data of an event; without a topic: read everything again. */
interface Told {
  seq: number;
  topic?: string;
}

/** The first elements of the keys of the queries that show a topic. */
const SHOWN_BY: Record<string, readonly string[]> = {
  tables: ["tables", "lineage", "search"],
  tasks: ["tasks", "workflows", "lineage"],
  workflows: ["workflows", "lineage"],
  executions: ["executions", "workflows", "runs"],
  backfills: ["backfills", "workflows"],
  datasources: ["datasources", "tables"],
};

/** Many changes at once are one reading. */
const GATHER_MS = 150;
/** The pauses before a stream that was refused is opened again: the first, and the longest. */
const AGAIN_MS = 1_000;
const AGAIN_MAX_MS = 30_000;

/** Only one tab of the browser reads the stream, and tells the others: a browser has few connections to a server. */
const LOCK = "lakeport.events";

/** Follows the changes while the page is open. */
export function useLive(): void {
  const queries = useQueryClient();
  useEffect(() => {
    const ended = new AbortController();
    const tell = reading(queries, ended.signal);
    const channel = new BroadcastChannel(LOCK);
    let seen: number | undefined;
    const take = (told: Told) => {
      seen = told.seq;
      tell(told);
    };
    channel.onmessage = (message: MessageEvent<Told>) => take(message.data);
    const lead = () => follow(() => seen, (told) => {
      take(told);
      channel.postMessage(told);
    }, ended.signal);
    // Without locks, as by plain HTTP from another machine, every tab reads for itself.
    if ("locks" in navigator) void navigator.locks.request(LOCK, { signal: ended.signal }, lead).catch(() => undefined);
    else void lead();
    return () => {
      ended.abort();
      channel.close();
    };
  }, [queries]);
}

/** Invalidates what the events are about. */
function reading(queries: QueryClient, ended: AbortSignal): (told: Told) => void {
  const waiting = new Set<string>();
  let isAll = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    if (isAll) void queries.invalidateQueries();
    else for (const key of waiting) void queries.invalidateQueries({ queryKey: [key] });
    waiting.clear();
    isAll = false;
  };
  ended.addEventListener("abort", () => clearTimeout(timer));
  return ({ topic }) => {
    if (topic === undefined) isAll = true;
    else for (const key of SHOWN_BY[topic] ?? [topic]) waiting.add(key);
    timer ??= setTimeout(flush, GATHER_MS);
  };
}

/** Reads the stream until the page is left. A browser reconnects by itself, but not to a server that refuses it once. */
function follow(seen: () => number | undefined, take: (told: Told) => void, ended: AbortSignal): Promise<void> {
  return new Promise((done) => {
    let source: EventSource | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let pause = AGAIN_MS;
    const open = () => {
      const after = seen();
      source = new EventSource(after === undefined ? "/api/v1/events" : `/api/v1/events?after=${after}`);
      const heard = (event: MessageEvent<string>) => take(JSON.parse(event.data) as Told);
      for (const kind of ["changed", "deleted", "everything"]) source.addEventListener(kind, heard);
      source.addEventListener("ready", () => {
        pause = AGAIN_MS;
      });
      source.addEventListener("error", () => {
        if (source?.readyState !== EventSource.CLOSED) return;
        timer = setTimeout(open, pause);
        pause = Math.min(pause * 2, AGAIN_MAX_MS);
      });
    };
    ended.addEventListener("abort", () => {
      source?.close();
      clearTimeout(timer);
      done();
    });
    open();
  });
}
