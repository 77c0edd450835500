/** The text of an answer. The simplest of Markdown is shown as such: lists, bold, code. Nothing of it becomes a link. */
import { Fragment, type ReactNode } from "react";
import { marked } from "../../ui/marks";

type Block = { kind: "text" | "code" | "head"; lines: string[] } | { kind: "list"; from: number | null; lines: string[] };

const ITEM = /^\s{0,3}(?:[-*•]|(\d{1,3})[.)])\s+(.*)$/;

export function Prose({ text }: { text: string }) {
  return <div className="ask-prose">{blocksOf(text).map((block, place) => <BlockView key={place} block={block} />)}</div>;
}

function BlockView({ block }: { block: Block }) {
  if (block.kind === "code") return <pre className="code"><code>{marked(block.lines.join("\n"))}</code></pre>;
  if (block.kind === "head") return <p className="strong">{inline(block.lines[0]!)}</p>;
  if (block.kind === "list") {
    const items = block.lines.map((line, place) => <li key={place}>{inline(line)}</li>);
    return block.from === null ? <ul>{items}</ul> : <ol start={block.from}>{items}</ol>;
  }
  return <p>{block.lines.map((line, place) => <Fragment key={place}>{place > 0 && <br />}{inline(line)}</Fragment>)}</p>;
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let current = null as Block | null;
  let isFenced = false;
  const begin = (block: Block): Block => {
    blocks.push(block);
    return block;
  };
  for (const line of text.split(/\r?\n/)) {
    if (line.trimStart().startsWith("```")) {
      isFenced = !isFenced;
      current = isFenced ? begin({ kind: "code", lines: [] }) : null;
    } else if (isFenced) {
      current?.lines.push(line);
    } else if (line.trim() === "") {
      current = null;
    } else if (/^#{1,6}\s/.test(line)) {
      begin({ kind: "head", lines: [line.replace(/^#+\s+/, "")] });
      current = null;
    } else if (line.startsWith("|")) {
      // A drawn table keeps its columns.
      current = current?.kind === "code" ? current : begin({ kind: "code", lines: [] });
      current.lines.push(line);
    } else {
      const item = ITEM.exec(line);
      if (item) {
        const from = item[1] === undefined ? null : Number(item[1]);
        const isSame: boolean = current?.kind === "list" && (current.from === null) === (from === null);
        current = isSame && current ? current : begin({ kind: "list", from, lines: [] });
        current.lines.push(item[2]!);
      } else {
        current = current?.kind === "text" ? current : begin({ kind: "text", lines: [] });
        current.lines.push(line);
      }
    }
  }
  return blocks;
}

function inline(text: string): ReactNode[] {
  return text.split(/(\*\*[^*]+\*\*|`[^`]+`)/).map((part, place) => {
    if (part.length > 4 && part.startsWith("**") && part.endsWith("**")) return <strong key={place}>{marked(part.slice(2, -2))}</strong>;
    if (part.length > 2 && part.startsWith("`") && part.endsWith("`")) return <code key={place}>{marked(part.slice(1, -1))}</code>;
    return <Fragment key={place}>{marked(part)}</Fragment>;
  });
}
