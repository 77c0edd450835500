/** A task as its form has it. */
import type { Schemas } from "../../api/client";
import type { Task } from "./data";

export interface Draft {
  taskName: string;
  taskType: string;
  /** The data source's id, or "". */
  datasource: string;
  text: string;
  priority: Schemas["TaskPriority"];
  timeout: string;
  retryTimes: string;
  retryInterval: string;
  /** The tables follow from the SQL; otherwise they are those of the lists. */
  isFromSql: boolean;
  inputs: number[];
  outputs: number[];
}

/** What was typed and not saved, with the `ETag` of the task that it changes: a change of something newer is refused. */
export interface Kept {
  form: Draft;
  tag: string | undefined;
  /** It is being saved: until then the form takes no change, which would be lost. */
  isBusy?: boolean;
  /** Why it was not saved. */
  error?: unknown;
}

export const PRIORITIES = ["HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST"] as const;

export function emptyDraft(datasource: string): Draft {
  return {
    taskName: "", taskType: "SQL", datasource, text: "", priority: "MEDIUM", timeout: "0", retryTimes: "0", retryInterval: "0",
    isFromSql: true, inputs: [], outputs: [],
  };
}

export function draftOf(task: Task, isFromSql: boolean): Draft {
  return {
    taskName: task.taskName, taskType: task.taskType, datasource: task.datasourceId === null ? "" : String(task.datasourceId),
    text: task.sqlContent ?? "", priority: task.priority, timeout: String(task.timeout), retryTimes: String(task.retryTimes),
    retryInterval: String(task.retryInterval), isFromSql, inputs: task.inputTableIds, outputs: task.outputTableIds,
  };
}

/** What the server is sent of a draft. A number that is none goes as it is: the server says what is wrong. */
export function bodyOf(draft: Draft) {
  const number = (text: string) => (text.trim() === "" ? 0 : Number.isNaN(Number(text)) ? (text as never) : Number(text));
  return {
    task: {
      taskName: draft.taskName.trim(), taskType: draft.taskType, datasourceId: draft.datasource === "" ? null : Number(draft.datasource),
      sqlContent: draft.text, priority: draft.priority, timeout: number(draft.timeout), retryTimes: number(draft.retryTimes),
      retryInterval: number(draft.retryInterval),
    },
    // A null list is derived from the SQL.
    inputTableIds: draft.isFromSql ? null : draft.inputs,
    outputTableIds: draft.isFromSql ? null : draft.outputs,
  };
}

export function isSame(one: Draft, other: Draft): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
