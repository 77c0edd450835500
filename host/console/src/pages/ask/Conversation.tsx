/** One topic: its questions and answers, and the field for the next question. */
import { useLayoutEffect, useRef, useState } from "react";
import { Link } from "@tanstack/react-router";
import { Failed } from "../../api/client";
import { useMay } from "../../api/me";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button } from "../../ui/controls";
import { marked } from "../../ui/marks";
import { Empty, Failure, Loading, Tag } from "../../ui/page";
import { Composer } from "./Composer";
import { keepDraft, keptDraft, useSend } from "./send";
import { TEXTS } from "./texts";
import { TopicMenu } from "./TopicMenu";
import { isFinal, type Topic, useTasks, useTopic, useTurns } from "./topics";
import { Question, TurnView } from "./TurnView";

export function Conversation({ topicId }: { topicId: string }) {
  const t = useTexts(TEXTS);
  const topic = useTopic(topicId);
  if (topic.error instanceof Failed && topic.error.status === 404) {
    return <Empty icon="ask" title={t.noTopic}><Link to="/ask">{t.newTopic}</Link></Empty>;
  }
  if (topic.data) return <Turns topic={topic.data} />;
  if (topic.error) return <Failure error={topic.error} onRetry={() => void topic.refetch()} />;
  return <Loading />;
}

function Turns({ topic }: { topic: Topic }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const { text: address, set } = useAddress();
  const topicId = topic.topic_id;
  const { turns, isPending, error, retry, hasEarlier, isReadingEarlier, showEarlier } = useTurns(topic);
  const { send, sending, sent, error: sendError } = useSend(topicId);
  const [text, setText] = useState(() => address("q") || keptDraft(topicId));
  const field = useRef<HTMLTextAreaElement>(null);
  const change = (value: string) => {
    setText(value);
    keepDraft(topicId, value);
  };
  // Questions that the server took and the list does not have yet.
  const known = new Set(turns.map((turn) => turn.taskId));
  const added = sent.filter((one) => !known.has(one.taskId)).map((one) => ({ taskId: one.taskId, question: one.content, answer: null }));
  const all = [...turns, ...added];
  const open = all.filter((turn) => turn.answer === null).map((turn) => turn.taskId);
  // Of an answer whose question stands on an earlier page, the task knows it.
  const unasked = all.filter((turn) => turn.question === null).map((turn) => turn.taskId);
  const tasks = useTasks(topicId, [...open, ...unasked]);
  const next = open.find((taskId) => !isFinal(tasks.get(taskId)));
  const ask = async (content: string, isTyped: boolean) => {
    if (isTyped) {
      change("");
      set({ q: undefined });
    }
    const isSent = await send(content, next === undefined);
    // What was not sent goes back to where it can be sent from, unless another text is there.
    if (!isSent) {
      setText((now) => now || content);
      keepDraft(topicId, keptDraft(topicId) || content);
    }
    field.current?.focus({ preventScroll: true });
  };
  const mayAsk = may("deliverMessage");
  const count = all.length + (sending === null ? 0 : 1);
  const lastTurn = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    // The router restores how far the page was scrolled; the newest question comes after that.
    if (count < 2) return undefined;
    const frame = requestAnimationFrame(() => lastTurn.current?.scrollIntoView({ block: "start" }));
    return () => cancelAnimationFrame(frame);
  }, [count > 1 ? all.at(-1)?.taskId ?? "" : "", sending !== null, topicId]); // eslint-disable-line react-hooks/exhaustive-deps
  return (
    <>
      <header className="ask-head">
        <h1>{marked(topic.title)}</h1>
        {topic.datasources?.map((name) => <Tag key={name}>{name}</Tag>)}
        {topic.model && <Tag tone="busy">{topic.model}</Tag>}
        <TopicMenu topic={topic} isHere />
      </header>
      {hasEarlier && (
        <div className="ask-earlier"><Button icon="up" isBusy={isReadingEarlier} onPress={showEarlier}>{t.earlier}</Button></div>
      )}
      {isPending && topic.message_count > 0 && <Loading />}
      <Failure error={error} onRetry={retry} />
      <div className="ask-turns">
        {all.map((turn, place) => (
          <div key={turn.taskId} ref={place === all.length - 1 && sending === null ? lastTurn : null} className="ask-place">
            <TurnView topicId={topicId} task={tasks.get(turn.taskId)} isNext={turn.taskId === next}
              turn={{ ...turn, question: turn.question ?? tasks.get(turn.taskId)?.content ?? null }}
              {...(mayAsk && sending === null ? { onAsk: (content: string) => void ask(content, false) } : {})}
              onEdit={(content) => {
                change(content);
                field.current?.focus();
              }} />
          </div>
        ))}
        {sending !== null && <div ref={lastTurn} className="ask-place"><Question text={sending} note={t.sending} /></div>}
        {count === 0 && !isPending && <Empty icon="ask" title={t.noMessages}>{t.noMessagesNext}</Empty>}
      </div>
      {mayAsk && (
        <Composer value={text} onChange={change} onSend={() => ask(text.trim(), true)} isSending={sending !== null} error={sendError}
          placeholder={next ? t.askNext : t.askMore} field={field} />
      )}
    </>
  );
}
