/** Sending questions. Until the server took one, its text is kept. */
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { api, bare } from "../../api/client";
import { readAhead } from "./events";
import type { Topic } from "./topics";

/** The longest question, in characters. */
export const QUESTION_MAX = 10_000;
const TITLE_MAX = 60;

/** What a topic may use; null: everything, and the default model. */
export interface Choices {
  datasources: string[] | null;
  model: string | null;
}

export interface Sent {
  taskId: string;
  content: string;
}

/** Sends questions to a topic. `sending` is the one on its way, `sent` those that the server took since the page is open. */
export function useSend(topicId: string) {
  const client = useQueryClient();
  const [sending, setSending] = useState<string | null>(null);
  const [sent, setSent] = useState<readonly Sent[]>([]);
  const [error, setError] = useState<unknown>(null);
  /**
   * False: it failed, and the caller puts the text where it came from. With `isIdle` nothing goes before it: a browser
   * has few connections, and only the task that runs gets one.
   */
  const send = async (content: string, isIdle: boolean): Promise<boolean> => {
    setSending(content);
    setError(null);
    try {
      const { task_id: taskId } = await deliver(topicId, content);
      if (isIdle) readAhead(taskId);
      // Together: the question is shown once.
      setSent((before) => [...before, { taskId, content }]);
      setSending(null);
      void client.invalidateQueries({ queryKey: ["topics"] });
      return true;
    } catch (reason) {
      setError(reason);
      setSending(null);
      return false;
    }
  };
  return { send, sending, sent, error };
}

/** Makes a topic of its first question. A second try uses the topic that the first one made. */
export function useBegin(onBegun: (topic: Topic, taskId: string, content: string) => void) {
  const made = useRef<Topic | null>(null);
  const [sending, setSending] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const begin = async (content: string, choices: Choices): Promise<boolean> => {
    setSending(content);
    setError(null);
    try {
      const body = { title: titleOf(content), ...choices };
      const topic = made.current
        ? await bare(api.PUT("/api/v1/nl2sql/topics/{topic_id}", { params: { path: { topic_id: made.current.topic_id } }, body }))
        : await bare(api.POST("/api/v1/nl2sql/topics", { body }));
      made.current = topic;
      const { task_id: taskId } = await deliver(topic.topic_id, content);
      readAhead(taskId);
      onBegun(topic, taskId, content);
      return true;
    } catch (reason) {
      setError(reason);
      setSending(null);
      return false;
    }
  };
  return { begin, sending, error };
}

const deliver = (topicId: string, content: string) =>
  bare(api.POST("/api/v1/nl2sql/tasks/deliver-message", { body: { topic_id: topicId, content } }));

export function titleOf(question: string): string {
  const line = question.trim().split(/\s*\n/)[0]!.replace(/\s+/g, " ");
  const letters = [...line];
  if (letters.length <= TITLE_MAX) return line;
  const cut = letters.slice(0, TITLE_MAX).join("");
  const space = cut.lastIndexOf(" ");
  return `${space > TITLE_MAX / 2 ? cut.slice(0, space) : cut}…`;
}

/** Texts that were typed and not sent outlive a reload of the page. */
const draftKey = (place: string) => `lakeport.ask.draft.${place}`;

export function keptDraft(place: string): string {
  return sessionStorage.getItem(draftKey(place)) ?? "";
}

export function keepDraft(place: string, text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(draftKey(place));
    else sessionStorage.setItem(draftKey(place), text);
  } catch {
    // The store is full: the text stays in the page.
  }
}
