/** What the pages of runs read. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, data, Failed, type Schemas } from "../../api/client";
import { queries } from "../../api/query";

export type Run = Schemas["Run"];
export type RunDetail = Schemas["RunDetail"];
export type RunTask = Schemas["RunTask"];
export type Execution = Schemas["Execution"];

/** How often a page asks again while something runs. */
export const BUSY_MS = 2_000;

/** It goes on, or can go on. */
export function isActive(status: string): boolean {
  return status === "pending" || status === "running" || status === "paused";
}

export function fetchRun(workflowId: number, instanceId: string) {
  return data<RunDetail>(api.GET("/api/v1/workflows/{id}/runs/{instanceId}", { params: { path: { id: workflowId, instanceId } } }));
}

export function useRun(workflowId: number, instanceId: string) {
  return useQuery({
    queryKey: ["executions", "run", workflowId, instanceId],
    queryFn: () => fetchRun(workflowId, instanceId),
    refetchInterval: ({ state }) => (state.data && isActive(state.data.status) ? BUSY_MS : false),
  });
}

/** Names a task of a run in the address: its id, or its name where the engine does not tell the task. */
export function taskKey(task: RunTask): string {
  return task.taskId === null ? task.taskName : String(task.taskId);
}

/** A log comes in parts; between two that had nothing new, the time grows to this. */
const FIRST_MS = 700;
const LAST_MS = 5_000;

export interface Followed {
  execution: Execution | null;
  /** The log so far, in parts. */
  parts: string[];
  isComplete: boolean;
  logError: string | null;
  error: unknown;
}

const NOTHING: Followed = { execution: null, parts: [], isComplete: false, logError: null, error: null };

/** An execution and its log, followed until both have ended. It begins again when `turn` changes. */
export function useFollowed(id: number, turn: unknown): Followed {
  const [followed, setFollowed] = useState(NOTHING);
  useEffect(() => {
    const abort = new AbortController();
    let offset: string | undefined;
    setFollowed(NOTHING);
    void (async () => {
      let pause = FIRST_MS;
      while (!abort.signal.aborted) {
        try {
          const asked = offset;
          const { log, ...execution } = await data<Schemas["ExecutionDetail"]>(api.GET("/api/v1/executions/{id}", {
            params: { path: { id }, query: asked === undefined ? {} : { logOffset: asked } }, signal: abort.signal,
          }));
          if (abort.signal.aborted) return;
          offset = log?.nextOffset ?? offset;
          const hasText = Boolean(log?.text);
          setFollowed((before) => ({
            execution, parts: hasText ? [...before.parts, log!.text] : before.parts,
            isComplete: log?.complete ?? true, logError: log?.error ?? null, error: null,
          }));
          if ((log?.complete ?? true) && !isActive(execution.status)) {
            // Lists of executions and runs may not know yet that it has ended.
            void queries.invalidateQueries({ queryKey: ["executions"] });
            return;
          }
          pause = hasText ? FIRST_MS : Math.min(pause * 1.5, isActive(execution.status) ? BUSY_MS : LAST_MS);
        } catch (error) {
          if (abort.signal.aborted) return;
          setFollowed((before) => ({ ...before, error }));
          // A refusal stays one; a server that is away or busy may come back, and the caller may sign in again.
          if (error instanceof Failed && error.status >= 400 && error.status < 500 && error.status !== 401 && error.status !== 429) return;
          pause = LAST_MS;
        }
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    })();
    return () => abort.abort();
  }, [id, turn]);
  return followed;
}
