/** What a plugin says of itself: text, marked as its own words. */
import { useTexts } from "../../i18n";
import { marked } from "../../ui/marks";
import { Tag } from "../../ui/page";
import { TEXTS } from "./texts";

export function Own({ text, isMarked }: { text: string | null; isMarked?: boolean }) {
  const t = useTexts(TEXTS);
  if (!text) return null;
  return (
    <span className="plugins-own" title={t.ownTitle}>
      <q>{marked(text)}</q> {isMarked && <Tag title={t.ownTitle}>{t.own}</Tag>}
    </span>
  );
}
