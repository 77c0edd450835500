/** A log that follows what runs. It stays at its end unless one scrolls up. */
import { memo, useLayoutEffect, useRef, useState } from "react";
import { useTexts } from "../../i18n";
import { Button, Checkbox } from "../../ui/controls";
import { CopyButton } from "../../ui/copy";
import { TEXTS } from "./texts";

/** So near to the end counts as the end. */
const NEAR_PX = 24;

export function Log({ parts, isFollowing, name }: { parts: readonly string[]; isFollowing: boolean; name: string }) {
  const t = useTexts(TEXTS).log;
  const box = useRef<HTMLPreElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const [isWrapped, setWrapped] = useState(true);
  useLayoutEffect(() => {
    if (isAtEnd && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [parts, isAtEnd, isWrapped]);
  const scrolled = () => {
    const element = box.current;
    if (element) setAtEnd(element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX);
  };
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
            aria-label={t.of(name)} onScroll={scrolled}>
            {parts.map((part, place) => <Part key={place} text={part} />)}
          </pre>
          {!isAtEnd && <Button icon="down" onPress={() => setAtEnd(true)}>{t.toEnd}</Button>}
        </div>
      ) : <p className="small">{isFollowing ? t.waiting : t.empty}</p>}
    </div>
  );
}

// A part never changes: only new ones are drawn.
const Part = memo(({ text }: { text: string }) => <span>{text}</span>);
