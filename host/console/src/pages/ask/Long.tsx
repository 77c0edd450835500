/** A text of the data: a long one is cut, and opens as a whole in a bounded box. */
import { useState } from "react";
import { marked } from "../../ui/marks";
import { Code } from "../../ui/page";

const SHOWN_MAX = 200;

export function Long({ text }: { text: string }) {
  const [isOpen, setOpen] = useState(false);
  if (text.length <= SHOWN_MAX) return <span title={text}>{marked(text)}</span>;
  return (
    <details className="ask-long" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{marked(text.slice(0, SHOWN_MAX))}…</summary>
      {isOpen && <Code>{text}</Code>}
    </details>
  );
}
