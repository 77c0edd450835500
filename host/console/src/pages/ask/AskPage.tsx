/** Ask: the topics at the side, and one of them, or the start of a new one. */
import { useEffect, useState } from "react";
import { useTexts } from "../../i18n";
import { usePath } from "../../search";
import { Conversation } from "./Conversation";
import { Start } from "./Start";
import { TEXTS } from "./texts";
import { TopicList } from "./TopicList";
import { useTopic } from "./topics";
import "./style.css";

export default function AskPage() {
  const t = useTexts(TEXTS);
  const { topicId } = usePath();
  const [isListOpen, setListOpen] = useState(false);
  useEffect(() => setListOpen(false), [topicId]);
  return (
    <div className="ask">
      <TopicList current={topicId} isOpen={isListOpen} onToggle={() => setListOpen(!isListOpen)} />
      <div className="ask-main">
        {topicId === undefined ? <Title text={t.title} /> : <TopicTitle topicId={topicId} />}
        {topicId === undefined ? <Start /> : <Conversation key={topicId} topicId={topicId} />}
      </div>
    </div>
  );
}

function TopicTitle({ topicId }: { topicId: string }) {
  const t = useTexts(TEXTS);
  const topic = useTopic(topicId).data;
  return <Title text={topic?.title ?? t.title} />;
}

/** The window's title. */
function Title({ text }: { text: string }) {
  useEffect(() => {
    document.title = `${text} · Lakeport`;
  }, [text]);
  return null;
}
