/**
 * The events of a task, read from its stream. What was read is kept, so that a broken connection, another page or a
 * second reader goes on after the last event and none comes twice.
 */
import { useEffect, useSyncExternalStore } from "react";
import { Failed, failedBy, type Schemas, unreachable } from "../../api/client";
import { parseExactly } from "../../api/exact";
import type { Answer } from "./topics";

export type TaskEvent = Schemas["TaskEvent"];
type Of<T extends TaskEvent["type"]> = Extract<TaskEvent, { type: T }>;

export interface Seen {
  events: readonly TaskEvent[];
  /** `lost`: the connection broke and is tried again. `ended`: no more events follow, or none can be read. */
  phase: "idle" | "open" | "lost" | "ended";
  error: Failed | null;
}

/** The server sends a sign of life each 15 s. */
const SILENCE_MS = 45_000;
const AGAIN_MS = 500;
const AGAIN_MAX_MS = 10_000;
/** Logs of tasks that are kept. */
const KEPT = 40;

class Log {
  private seen: Seen = { events: [], phase: "idle", error: null };
  private readonly listeners = new Set<() => void>();
  private readers = 0;
  private reading: AbortController | null = null;

  constructor(private readonly taskId: string) {}

  snapshot = (): Seen => this.seen;

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };

  get isIdle(): boolean {
    return this.readers === 0 && this.listeners.size === 0;
  }

  /** Reads until the end, or until no reader is left. */
  follow(): () => void {
    this.readers += 1;
    if (this.readers === 1 && this.seen.phase !== "ended") {
      if (this.seen.phase !== "idle") this.set({ phase: "idle" });
      this.reading = new AbortController();
      void this.read(this.reading.signal);
    }
    let isDone = false;
    return () => {
      if (isDone) return;
      isDone = true;
      this.readers -= 1;
      if (this.readers > 0) return;
      this.reading?.abort();
      this.reading = null;
    };
  }

  /** Tries again after an end that was a refusal. */
  restart(): void {
    if (this.seen.error) this.set({ phase: "idle", error: null });
  }

  private set(change: Partial<Seen>): void {
    this.seen = { ...this.seen, ...change };
    for (const listener of this.listeners) listener();
  }

  private async read(signal: AbortSignal): Promise<void> {
    let wait = AGAIN_MS;
    while (!signal.aborted) {
      const before = this.seen.events.length;
      try {
        if (await this.connect(signal)) {
          if (!signal.aborted) this.set({ phase: "ended", error: null });
          return;
        }
      } catch (reason) {
        if (signal.aborted) return;
        const error = reason instanceof Failed ? reason : unreachable(reason);
        // A refusal stays one; a busy or absent server may come back, and the caller may sign in again.
        if (error.status >= 400 && error.status < 500 && error.status !== 401 && error.status !== 429) {
          this.set({ phase: "ended", error });
          return;
        }
        this.set({ phase: "lost" });
      }
      wait = this.seen.events.length > before ? AGAIN_MS : Math.min(2 * wait, AGAIN_MAX_MS);
      await pause(wait, signal);
    }
  }

  /** True: no more events follow. */
  private async connect(signal: AbortSignal): Promise<boolean> {
    const last = this.seen.events.at(-1)?.seq ?? 0;
    // This connection, which also ends when it is silent.
    const connection = new AbortController();
    const stop = () => connection.abort();
    signal.addEventListener("abort", stop);
    let silence = setTimeout(stop, SILENCE_MS);
    try {
      const response = await fetch(`/api/v1/nl2sql/tasks/${encodeURIComponent(this.taskId)}/events/stream`, {
        headers: { Accept: "text/event-stream", ...(last > 0 ? { "Last-Event-ID": String(last) } : {}) },
        cache: "no-store",
        signal: connection.signal,
      });
      if (response.status === 204) return true;
      // The log is shorter than what was read, as after a restored backup: from the beginning.
      if (response.status === 400 && last > 0) {
        this.set({ events: [] });
        return false;
      }
      if (!response.ok || !response.body) throw failedBy(response, await response.json().catch(() => null));
      this.set({ phase: "open" });
      for await (const events of read(response.body)) {
        clearTimeout(silence);
        silence = setTimeout(stop, SILENCE_MS);
        if (this.add(events)) return true;
      }
      return false;
    } finally {
      clearTimeout(silence);
      signal.removeEventListener("abort", stop);
      connection.abort();
    }
  }

  /** True: the last event is among them. */
  private add(events: readonly TaskEvent[]): boolean {
    const last = this.seen.events.at(-1)?.seq ?? 0;
    const added = events.filter((event) => event.seq > last);
    if (added.length > 0) this.set({ events: [...this.seen.events, ...added], phase: "open" });
    return added.some((event) => event.type === "message" || event.type === "error");
  }
}

/** What each piece of the body brings; nothing for a sign of life. */
async function* read(body: ReadableStream<Uint8Array>): AsyncGenerator<TaskEvent[]> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const frames = (rest + value).split(/\r?\n\r?\n/);
    // Without its end, a frame is not whole.
    rest = frames.pop() ?? "";
    yield frames.flatMap(eventOf);
  }
}

function eventOf(frame: string): TaskEvent[] {
  const text = frame
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).replace(/^ /, ""))
    .join("\n");
  return text === "" ? [] : [parseExactly(text) as TaskEvent];
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      done();
    }, { once: true });
  });
}

const logs = new Map<string, Log>();

function logOf(taskId: string): Log {
  const log = logs.get(taskId) ?? new Log(taskId);
  // The one asked for last is the last to be forgotten.
  logs.delete(taskId);
  logs.set(taskId, log);
  for (const [other, old] of logs) {
    if (logs.size <= KEPT) break;
    if (other !== taskId && old.isIdle) logs.delete(other);
  }
  return log;
}

/** What was read of a task's events; with `isFollowed`, it is read on. */
export function useEvents(taskId: string, isFollowed: boolean): Seen & { retry: () => void } {
  const log = logOf(taskId);
  const seen = useSyncExternalStore(log.subscribe, log.snapshot);
  const isRefused = seen.error !== null;
  useEffect(() => (isFollowed && !isRefused ? log.follow() : undefined), [log, isFollowed, isRefused]);
  return { ...seen, retry: () => log.restart() };
}

/** Reads the events of a task that was just made, before a page shows it. */
export function readAhead(taskId: string): void {
  const log = logOf(taskId);
  const stop = log.follow();
  const leave = log.subscribe(() => {
    if (log.snapshot().phase !== "ended") return;
    leave();
    stop();
  });
}

/** All events of a task that is done. */
export function allEvents(taskId: string): Promise<readonly TaskEvent[]> {
  const log = logOf(taskId);
  log.restart();
  return new Promise((done, fail) => {
    const look = () => {
      const { phase, events, error } = log.snapshot();
      if (phase !== "ended" && phase !== "lost") return;
      leave();
      stop();
      if (error) fail(error);
      else if (phase === "lost") fail(unreachable("the connection broke"));
      else done(events);
    };
    const leave = log.subscribe(look);
    const stop = log.follow();
    look();
  });
}

/** A thought, or a call of a tool with its result as soon as there is one. */
export type Step = { kind: "thought"; event: Of<"thinking"> } | { kind: "call"; call: Of<"tool_call">; result: Of<"tool_result"> | null };

export function stepsOf(events: readonly TaskEvent[]): Step[] {
  const steps: Step[] = [];
  for (const event of events) {
    if (event.type === "thinking") steps.push({ kind: "thought", event });
    if (event.type === "tool_call") steps.push({ kind: "call", call: event, result: null });
    if (event.type === "tool_result") {
      const step = steps.find((one) => one.kind === "call" && one.call.call_id === event.call_id);
      if (step?.kind === "call") step.result = event;
    }
  }
  return steps;
}

/** The answer that the events brought. */
export function answerOf(events: readonly TaskEvent[]): Answer | null {
  const last = events.at(-1);
  if (last?.type !== "message") return null;
  const { message_id, content, artifacts, outcome = "answered", candidates = [], suggestions = [] } = last;
  return { message_id, content, artifacts, outcome, candidates, suggestions, feedback: null };
}

export function errorOf(events: readonly TaskEvent[]): { code: string; message: string } | null {
  const last = events.at(-1);
  return last?.type === "error" ? last : null;
}
