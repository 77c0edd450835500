/** Whether the component is still shown, asked after a late answer: one that was left must not lead the reader away. */
import { type RefObject, useEffect, useRef } from "react";

export function useMounted(): Readonly<RefObject<boolean>> {
  const isMounted = useRef(true);
  useEffect(() => {
    isMounted.current = true;
    return () => {
      isMounted.current = false;
    };
  }, []);
  return isMounted;
}
