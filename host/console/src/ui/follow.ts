/** Keeps a box of lines at its end while new ones come, unless the reader has scrolled up. */
import { useLayoutEffect, useRef, useState } from "react";

/** So near to the end counts as the end. */
const NEAR_PX = 24;

/** `content` says what the box holds: with another one it is moved to its end again. */
export function useFollow<Box extends HTMLElement>(isFollowed: boolean, ...content: readonly unknown[]) {
  const box = useRef<Box>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  useLayoutEffect(() => {
    if (isFollowed && isAtEnd && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [isFollowed, isAtEnd, ...content]);
  const onScroll = () => {
    const element = box.current;
    if (element) setAtEnd(element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX);
  };
  return { box, isAtEnd, onScroll, toEnd: () => setAtEnd(true) };
}
