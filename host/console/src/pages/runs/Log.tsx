/** A log that follows what runs. It stays at its end unless one scrolls up. */
import { memo, useState } from "react";
import { useTexts } from "../../i18n";
import { Button, Checkbox } from "../../ui/controls";
import { CopyButton } from "../../ui/copy";
import { useFollow } from "../../ui/follow";
import { marked } from "../../ui/marks";
import { TEXTS } from "./texts";

export function Log({ parts, isFollowing, name }: { parts: readonly string[]; isFollowing: boolean; name: string }) {
  const t = useTexts(TEXTS).log;
  const [isWrapped, setWrapped] = useState(true);
  const { box, isAtEnd, onScroll, toEnd } = useFollow<HTMLPreElement>(true, parts, isWrapped);
  const hasText = parts.length > 0;
  return (
    <div className="runs-log">
      <div className="row">
        <h3>{t.title}</h3>
        {isFollowing && <span className="small" role="status">{t.following}</span>}
        <span className="runs-grow" />
        <Checkbox label={t.wrap} isSelected={isWrapped} onChange={setWrapped} />
        {hasText && <CopyButton text={parts.join("")} />}
      </div>
      {hasText ? (
        <div className="runs-logbox">
          <pre ref={box} className={isWrapped ? "code runs-lines wrap" : "code runs-lines"} tabIndex={0} role="log"
            aria-label={t.of(name)} onScroll={onScroll}>
            {parts.map((part, place) => <Part key={place} text={part} />)}
          </pre>
          {!isAtEnd && <Button icon="down" onPress={toEnd}>{t.toEnd}</Button>}
        </div>
      ) : <p className="small">{isFollowing ? t.waiting : t.empty}</p>}
    </div>
  );
}

// A part never changes: only new ones are drawn.
const Part = memo(({ text }: { text: string }) => <span>{marked(text)}</span>);
