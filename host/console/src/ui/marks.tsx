/**
 * Characters that are not seen but change how a text reads: controls, marks of direction, letters without width. They
 * are shown as their code points, so that a text reads as what is stored and runs.
 */
import { Fragment, type ReactNode } from "react";

/** The CR of a line's end is left as it is. */
const UNSEEN = "(?![\\t\\n])(?!\\r(?:\\n|$))[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]";
export const unseen = () => new RegExp(UNSEEN, "gu");

export const codePoint = (character: string) => `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;

/** For names within sentences, where only a text can stand. */
export const spelled = (text: string) => text.replace(unseen(), (character) => `[${codePoint(character)}]`);

/** A text with its unseen characters as boxes; anything else as it is. */
export function marked(content: ReactNode): ReactNode {
  if (typeof content !== "string" || !unseen().test(content)) return content;
  return content.split(new RegExp(`(${UNSEEN})`, "gu")).map((part, place) =>
    place % 2 === 1 ? <span key={place} className="unseen">{codePoint(part)}</span> : <Fragment key={place}>{part}</Fragment>);
}
