/** Whether an engine answered when it was last asked for its runs. */
import type { Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Tag, Time } from "../../ui/page";
import { TEXTS } from "./texts";

export function Health({ look }: { look: Schemas["Engine"]["lastLook"] }) {
  const t = useTexts(TEXTS);
  if (!look) return <span className="faint">{t.notLooked}</span>;
  if (look.ok) return <div><Tag tone="good">{t.answers}</Tag> <div className="small"><Time value={look.at} /></div></div>;
  return (
    <div>
      <Tag tone="bad" {...(look.message === null ? {} : { title: look.message })}>{t.answersNot}</Tag>
      <div className="small">{look.answeredAt === null ? t.neverAnswered : <>{t.answeredLast} <Time value={look.answeredAt} /></>}</div>
    </div>
  );
}
