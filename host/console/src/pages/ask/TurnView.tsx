/** A question and its answer. */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, bare, Failed } from "../../api/client";
import { useMay } from "../../api/me";
import { useTexts } from "../../i18n";
import { Button, IconButton } from "../../ui/controls";
import { marked } from "../../ui/marks";
import { Failure } from "../../ui/page";
import { AnswerView } from "./AnswerView";
import { answerOf, errorOf, useEvents } from "./events";
import { Steps } from "./Steps";
import { TEXTS } from "./texts";
import { type AgentTask, isFinal, type Turn } from "./topics";

export function TurnView({ topicId, turn, task, isNext, onAsk, onEdit }: {
  topicId: string; turn: Turn;
  /** Of a question without an answer. */
  task: AgentTask | undefined;
  /** It runs, or is the next to run: its events are followed. */
  isNext: boolean;
  onAsk?: (content: string) => void;
  /** Puts the question back into the field. */
  onEdit: (content: string) => void;
}) {
  const t = useTexts(TEXTS);
  const client = useQueryClient();
  const [wish, setWish] = useState<boolean | null>(null);
  const isOpenEnded = turn.answer === null && !isFinal(task);
  const isFollowed = isOpenEnded && isNext && task !== undefined;
  const seen = useEvents(turn.taskId, isFollowed || wish === true);
  const answer = turn.answer ?? answerOf(seen.events);
  // How far it is has to be asked first, unless its events say so.
  const isKnown = turn.answer !== null || task !== undefined || seen.phase === "open" || seen.events.length > 0;
  const isRunning = isOpenEnded && isKnown && answer === null && seen.phase !== "ended";
  // Its events are at their end, and the topic is not read since.
  const hasEnded = turn.answer === null && (seen.phase === "ended" || task?.status === "success");
  useEffect(() => {
    if (hasEnded) void client.invalidateQueries({ queryKey: ["topics"] });
  }, [hasEnded, client]);
  const isOpen = wish ?? isRunning;
  const error = answer ? null : errorOf(seen.events) ?? task?.error ?? null;
  const isWaiting = isRunning && !isNext;
  return (
    <article className="ask-turn">
      {turn.question !== null && <Question text={turn.question} onEdit={() => onEdit(turn.question!)} />}
      {!isKnown ? null : isWaiting ? (
        <div className="ask-steps-head"><p className="small" role="status">{t.waits}</p><Stop taskId={turn.taskId} label={t.cancelWaiting} /></div>
      ) : (
        <Steps seen={seen} isRunning={isRunning} isOpen={isOpen} onToggle={() => setWish(!isOpen)} task={task} topicId={topicId} taskId={turn.taskId}>
          {isRunning && <Stop taskId={turn.taskId} label={t.stop} />}
        </Steps>
      )}
      {answer && (
        <AnswerView topicId={topicId} taskId={turn.taskId} answer={answer} name={turn.question ?? t.result} {...(onAsk ? { onAsk } : {})} />
      )}
      {error && <Failure error={new Failed(0, error.code, error.message, null)} />}
      {!answer && !error && task?.status === "suspended" && <p className="small">{t.stopped}</p>}
      {!answer && !isRunning && isFinal(task) && turn.question !== null && onAsk && (
        <div><Button icon="refresh" onPress={() => onAsk(turn.question!)}>{t.askAgain}</Button></div>
      )}
    </article>
  );
}

export function Question({ text, onEdit, note }: { text: string; onEdit?: () => void; note?: string }) {
  const t = useTexts(TEXTS);
  return (
    <div className="ask-question">
      {onEdit && <IconButton icon="edit" label={t.editQuestion} onPress={onEdit} />}
      <div>
        <h2 className="ask-bubble">{marked(text)}</h2>
        {note && <p className="small" role="status">{note}</p>}
      </div>
    </div>
  );
}

/** Stops a task that runs or waits. */
function Stop({ taskId, label }: { taskId: string; label: string }) {
  const may = useMay();
  const client = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  if (!may("cancelAgentTask")) return null;
  const stop = async () => {
    setBusy(true);
    setError(null);
    try {
      await bare(api.POST("/api/v1/nl2sql/tasks/{task_id}/cancel", { params: { path: { task_id: taskId } } }));
    } catch (reason) {
      // It was faster than the press.
      if (!(reason instanceof Failed && reason.status === 409)) setError(reason);
    }
    await client.invalidateQueries({ queryKey: ["topics"] });
    setBusy(false);
  };
  return (
    <>
      <Button icon="stop" isBusy={isBusy} onPress={() => void stop()}>{label}</Button>
      <Failure error={error} />
    </>
  );
}
