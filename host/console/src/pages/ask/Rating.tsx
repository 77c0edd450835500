/** What the reader thinks of an answer. */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, bare, type Schemas } from "../../api/client";
import { useMay } from "../../api/me";
import { useTexts } from "../../i18n";
import { Button, TextField } from "../../ui/controls";
import { Form } from "../../ui/form";
import { Failure } from "../../ui/page";
import { TEXTS } from "./texts";
import { type Answer, useRated } from "./topics";

export function Rating({ topicId, answer }: { topicId: string; answer: Answer }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const rated = useRated(topicId);
  const [isCommenting, setCommenting] = useState(false);
  const [comment, setComment] = useState("");
  const rate = useMutation({
    mutationFn: (body: Schemas["RateAnswer"]) =>
      bare(api.POST("/api/v1/nl2sql/messages/{message_id}/feedback", { params: { path: { message_id: answer.message_id } }, body })),
    onSuccess: (feedback) => rated(answer.message_id, feedback),
  });
  const given = rate.data ?? answer.feedback;
  if (!may("rateAnswer")) return null;
  const press = async (rating: Schemas["Rating"]) => {
    const isSame = given?.rating === rating;
    // What was said of it as good does not stay when it is called bad.
    if (!isSame && !(await rate.mutateAsync({ rating }).catch(() => null))) return;
    setComment(isSame ? given.comment ?? "" : "");
    setCommenting(true);
  };
  const say = async () => {
    if (!given) return;
    const said = await rate.mutateAsync({ rating: given.rating, comment: comment.trim() || null }).catch(() => null);
    if (said) setCommenting(false);
  };
  return (
    <>
      <Button kind="quiet" icon="good" aria-label={t.good} aria-pressed={given?.rating === "up"} isBusy={rate.isPending} onPress={() => void press("up")} />
      <Button kind="quiet" icon="bad" aria-label={t.bad} aria-pressed={given?.rating === "down"} isBusy={rate.isPending} onPress={() => void press("down")} />
      {given && !isCommenting && (
        <span className="small ask-given">
          {given.rating === "up" ? t.ratedGood : t.ratedBad}{given.comment && `: “${given.comment}”`}
        </span>
      )}
      {isCommenting && (
        <Form className="ask-comment" isBusy={rate.isPending} onSubmit={say}>
          <TextField label={t.comment} isLabelHidden placeholder={given?.rating === "down" ? t.whatIsWrong : t.whatIsGood} value={comment}
            onChange={setComment} maxLength={2_000} autoFocus />
          <Button type="submit" isBusy={rate.isPending}>{t.saveComment}</Button>
          <Button kind="quiet" onPress={() => setCommenting(false)}>{t.noComment}</Button>
        </Form>
      )}
      {rate.error && <div className="ask-wide"><Failure error={rate.error} /></div>}
    </>
  );
}
