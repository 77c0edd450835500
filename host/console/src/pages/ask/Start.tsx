/** The start of a topic: the field, examples, and what the topic may use. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { api, bare } from "../../api/client";
import { useMay } from "../../api/me";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { useMounted } from "../../ui/mounted";
import { Composer } from "./Composer";
import { Options, useChosen } from "./Options";
import { type Choices, keepDraft, keptDraft, useBegin } from "./send";
import { TEXTS } from "./texts";
import { useDatasources, useSeed } from "./topics";
import { Question } from "./TurnView";

const PLACE = "new";
/** The data source of the demo's company. */
const DEMO = "lakeside";
const VERIFIED_SHOWN = 4;

export function Start() {
  const t = useTexts(TEXTS);
  const may = useMay();
  const navigate = useNavigate();
  const { text: address } = useAddress();
  const seed = useSeed();
  const [text, setText] = useState(() => address("q") || keptDraft(PLACE));
  const [choices, setChoices] = useState<Choices>({ datasources: null, model: null });
  const [isOptionsOpen, setOptionsOpen] = useState(false);
  const chosen = useChosen(choices);
  const field = useRef<HTMLTextAreaElement>(null);
  const isMounted = useMounted();
  const { begin, sending, error } = useBegin((topic, taskId, content) => {
    seed(topic, taskId, content);
    if (isMounted.current) void navigate({ to: "/ask/$topicId", params: { topicId: topic.topic_id } });
  });
  const change = (value: string) => {
    setText(value);
    keepDraft(PLACE, value);
  };
  const isRestricted = choices.datasources?.length === 0;
  const ask = async (content: string, isTyped: boolean) => {
    if (isTyped) change("");
    if (await begin(content, choices)) return;
    // What was not sent goes back to where it can be sent from, unless another text is there.
    setText((now) => now || content);
    keepDraft(PLACE, keptDraft(PLACE) || content);
  };
  if (!may("createTopic") || !may("deliverMessage")) return <h1>{t.title}</h1>;
  return (
    <div className={sending === null ? "ask-start" : "ask-start ask-begun"}>
      {sending === null ? (
        <header>
          <h1>{t.startTitle}</h1>
          <p className="lead">{t.startLead}</p>
        </header>
      ) : <Question text={sending} note={t.sending} />}
      <Composer value={text} onChange={change} onSend={() => !isRestricted && ask(text.trim(), true)} isSending={sending !== null} error={error}
        placeholder={t.askFirst} field={field}>
        <Button kind="quiet" icon="settings" aria-expanded={isOptionsOpen} onPress={() => setOptionsOpen(!isOptionsOpen)}>
          <span className="ask-chosen">{chosen}</span>
        </Button>
      </Composer>
      {isOptionsOpen && sending === null && <Options value={choices} onChange={setChoices} />}
      {sending === null && <Examples isDisabled={isRestricted ?? false} onAsk={(content) => void ask(content, false)} />}
    </div>
  );
}

/** Questions that can be answered: those that somebody verified, those about the demo's company, those about the platform. */
function Examples({ isDisabled, onAsk }: { isDisabled: boolean; onAsk: (content: string) => void }) {
  const t = useTexts(TEXTS);
  const may = useMay();
  const datasources = useDatasources().data;
  const verified = useQuery({
    queryKey: ["verified", "examples"],
    queryFn: () => bare(api.GET("/api/v1/nl2sql/verified", { params: { query: { page_size: VERIFIED_SHOWN } } })),
    enabled: may("listVerified"),
    staleTime: 60_000,
  }).data?.items;
  if (!datasources) return null;
  const groups = [
    { title: t.verifiedExamples, questions: verified?.map((one) => one.question) ?? [], icon: "check" as const },
    { title: t.demoExamples, questions: datasources.includes(DEMO) ? t.ofDemo : [], icon: "database" as const },
    { title: t.platformExamples, questions: t.ofPlatform, icon: "workflow" as const },
  ].filter((group) => group.questions.length > 0);
  return (
    <div className="ask-examples">
      {groups.map((group) => (
        <section key={group.title}>
          <h2 className="small"><Icon name={group.icon} /> {group.title}</h2>
          <div className="ask-chips">
            {group.questions.map((question) => (
              <button key={question} type="button" className="ask-chip" disabled={isDisabled} onClick={() => onAsk(question)}>{question}</button>
            ))}
          </div>
        </section>
      ))}
    </div>
  );
}
