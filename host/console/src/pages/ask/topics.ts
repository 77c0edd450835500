/** Topics, their messages as turns of question and answer, and how far the tasks are. */
import { useInfiniteQuery, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { api, bare, type Schemas } from "../../api/client";
import { datasourcesQuery } from "../../api/datasources";

export type Topic = Schemas["Topic"];
export type Message = Schemas["Message"];
export type Artifact = Schemas["Artifact"];
export type AgentTask = Schemas["AgentTask"];

/** What an answer says, read from the stored message or from the event that brought it. */
export type Answer = Pick<
  Message, "message_id" | "content" | "artifacts" | "outcome" | "candidates" | "suggestions" | "feedback"
>;

/** A question and its answer. A question that stands on a page of messages not shown yet is null. */
export interface Turn {
  taskId: string;
  question: string | null;
  answer: Answer | null;
}

const TOPICS_PER_PAGE = 50;
/** Answers can be large: few are read at once. */
const MESSAGES_PER_PAGE = 20;
/** Without a stream of changes, the state of a task that waits is asked for so often, in milliseconds. */
const WAITING_MS = 3_000;

/** The caller's topics, the newest first. */
export function useTopics() {
  const query = useInfiniteQuery({
    queryKey: ["topics", "list"],
    queryFn: ({ pageParam }) =>
      bare(api.GET("/api/v1/nl2sql/topics", { params: { query: { page: pageParam, page_size: TOPICS_PER_PAGE } } })),
    initialPageParam: 1,
    getNextPageParam: (last) => (last.page * last.page_size < last.total ? last.page + 1 : undefined),
  });
  // A topic that was made meanwhile moves another to the next page.
  const topics = useMemo(() => {
    const found = query.data?.pages.flatMap((page) => page.items);
    return found && [...new Map(found.map((topic) => [topic.topic_id, topic])).values()];
  }, [query.data]);
  return { ...query, topics };
}

export function useTopic(topicId: string) {
  return useQuery({
    queryKey: ["topics", topicId],
    queryFn: () => bare(api.GET("/api/v1/nl2sql/topics/{topic_id}", { params: { path: { topic_id: topicId } } })),
  });
}

const pageKey = (topicId: string, page: number) => ["messages", topicId, page] as const;

/**
 * The turns of a topic, from its newest page of messages on backwards. Messages are only added: a page that is full
 * stays as it is, and the last one is read again when the topic counts more.
 */
export function useTurns(topic: Topic) {
  const client = useQueryClient();
  const { topic_id: topicId, message_count: count } = topic;
  const last = Math.max(1, Math.ceil(count / MESSAGES_PER_PAGE));
  // Where the reader began: what is added later comes after it. A page with little on it has the one before it.
  const [first, setFirst] = useState(() => (count % MESSAGES_PER_PAGE < MESSAGES_PER_PAGE / 2 ? Math.max(1, last - 1) : last));
  const from = Math.min(first, last);
  const pages = useQueries({
    queries: Array.from({ length: last - from + 1 }, (_, place) => ({
      queryKey: pageKey(topicId, from + place),
      queryFn: () =>
        bare(api.GET("/api/v1/nl2sql/topics/{topic_id}/messages", {
          params: { path: { topic_id: topicId }, query: { page: from + place, page_size: MESSAGES_PER_PAGE } },
        })),
      staleTime: 60_000,
    })),
  });
  useEffect(() => {
    pages.forEach((page, place) => {
      const expected = Math.min(MESSAGES_PER_PAGE, count - (from + place - 1) * MESSAGES_PER_PAGE);
      if (page.data && page.data.items.length < expected) {
        void client.invalidateQueries({ queryKey: pageKey(topicId, from + place) });
      }
    });
    // Once for each message that was added.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [count]);
  const messages = pages.flatMap((page) => page.data?.items ?? []);
  const failed = pages.find((page) => page.error && !page.data);
  return {
    turns: turnsOf(messages),
    isPending: pages.every((page) => page.isPending),
    error: failed?.error ?? null,
    retry: () => void failed?.refetch(),
    hasEarlier: from > 1,
    isReadingEarlier: pages[0]?.isFetching ?? false,
    showEarlier: () => setFirst(from - 1),
  };
}

function turnsOf(messages: readonly Message[]): Turn[] {
  const turns = new Map<string, Turn>();
  for (const message of messages) {
    const turn = turns.get(message.task_id) ?? { taskId: message.task_id, question: null, answer: null };
    if (message.role === "user") turn.question = message.content;
    else turn.answer = message;
    turns.set(message.task_id, turn);
  }
  // Questions that waited have their answers later on. The ids of tasks are in the order in which they were asked.
  return [...turns.values()].sort((one, other) => (one.taskId < other.taskId ? -1 : 1));
}

const taskQuery = (topicId: string, taskId: string) => ({
  queryKey: ["topics", topicId, "tasks", taskId],
  queryFn: () => bare(api.GET("/api/v1/nl2sql/tasks/{task_id}", { params: { path: { task_id: taskId } } })),
});

/** The task of a turn, for what it used. */
export function useTask(topicId: string, taskId: string, enabled: boolean) {
  return useQuery({ ...taskQuery(topicId, taskId), enabled });
}

/** Tasks, by id: of questions that have no answer yet or got none, and of answers without their question. */
export function useTasks(topicId: string, taskIds: readonly string[]): ReadonlyMap<string, AgentTask> {
  const tasks = useQueries({
    queries: taskIds.map((taskId) => ({
      ...taskQuery(topicId, taskId),
      refetchInterval: (query: { state: { data?: AgentTask | undefined } }) =>
        query.state.data?.status === "waiting" ? WAITING_MS : (false as const),
    })),
  });
  return new Map(tasks.flatMap((task) => (task.data ? [[task.data.task_id, task.data] as const] : [])));
}

export const isFinal = (task: AgentTask | undefined) =>
  task !== undefined && task.status !== "waiting" && task.status !== "running";

/** The page of a topic is shown at once after its first question was sent. */
export function useSeed() {
  const client = useQueryClient();
  return (topic: Topic, taskId: string, content: string) => {
    const question: Message = {
      message_id: taskId, topic_id: topic.topic_id, task_id: taskId, role: "user", content, artifacts: [], outcome: null,
      candidates: [], reason: null, suggestions: [], feedback: null, created_at: topic.created_at,
    };
    client.setQueryData(["topics", topic.topic_id], { ...topic, message_count: 1, last_task_id: taskId });
    client.setQueryData(pageKey(topic.topic_id, 1), { items: [question], total: 1, page: 1, page_size: MESSAGES_PER_PAGE });
    void client.invalidateQueries({ queryKey: ["topics"] });
    void client.invalidateQueries({ queryKey: pageKey(topic.topic_id, 1) });
  };
}

/** Puts a rating into the messages that are shown. */
export function useRated(topicId: string) {
  const client = useQueryClient();
  return (messageId: string, feedback: Schemas["Feedback"]) => {
    client.setQueriesData<Schemas["ListOfMessage"]>({ queryKey: ["messages", topicId] }, (page) =>
      page && {
        ...page,
        items: page.items.map((message) => (message.message_id === messageId ? { ...message, feedback } : message)),
      });
  };
}

/** The data sources that the caller may ask about. */
export function useDatasources() {
  return useQuery({ ...datasourcesQuery, select: (all) => all.map((source) => source.name) });
}

export function useModels() {
  return useQuery({
    queryKey: ["models"],
    queryFn: () => bare(api.GET("/api/v1/nl2sql/models", { params: { query: { page_size: 200 } } })),
    select: (page) => page.items,
    staleTime: 60_000,
  });
}
