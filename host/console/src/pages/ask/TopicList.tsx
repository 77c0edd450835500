/** The caller's topics, the newest first. */
import { Link } from "@tanstack/react-router";
import { useTexts } from "../../i18n";
import { Button } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { marked } from "../../ui/marks";
import { Failure, Loading, Time } from "../../ui/page";
import { TEXTS } from "./texts";
import { TopicMenu } from "./TopicMenu";
import { useTopics } from "./topics";

export function TopicList({ current, isOpen, onToggle }: {
  current: string | undefined;
  /** On a narrow page it is folded. */
  isOpen: boolean; onToggle: () => void;
}) {
  const t = useTexts(TEXTS);
  const { topics, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useTopics();
  return (
    <aside className={isOpen ? "ask-side open" : "ask-side"} aria-label={t.topics}>
      <div className="ask-side-head">
        <Link to="/ask" className="button primary ask-new"><Icon name="plus" />{t.newTopic}</Link>
        <button type="button" className="button ask-side-fold" aria-expanded={isOpen} aria-controls="ask-topics" onClick={onToggle}>
          <Icon name={isOpen ? "up" : "down"} />{t.topics}
        </button>
      </div>
      <nav id="ask-topics" className="ask-topics" aria-label={t.topics}>
        {!topics && !error && <Loading lines={6} />}
        {!topics && <Failure error={error} onRetry={() => void refetch()} />}
        {topics?.length === 0 && <p className="small ask-side-empty">{t.noTopics}</p>}
        {topics && topics.length > 0 && (
          <ul>
            {topics.map((topic) => (
              <li key={topic.topic_id} className={topic.topic_id === current ? "ask-topic current" : "ask-topic"}>
                <Link to="/ask/$topicId" params={{ topicId: topic.topic_id }} title={topic.title}
                  {...(topic.topic_id === current ? { "aria-current": "page" as const } : {})}>
                  <span className="ask-topic-title">{marked(topic.title)}</span>
                  <span className="ask-topic-more">
                    {topic.last_task_status === "running" || topic.last_task_status === "waiting"
                      ? <span className="ask-topic-busy">{t.isAnswering}</span>
                      : <Time value={topic.updated_at} isAgo />}
                  </span>
                </Link>
                <TopicMenu topic={topic} isHere={topic.topic_id === current} />
              </li>
            ))}
          </ul>
        )}
        {hasNextPage && <Button kind="quiet" isBusy={isFetchingNextPage} onPress={() => void fetchNextPage()}>{t.moreTopics}</Button>}
      </nav>
    </aside>
  );
}
