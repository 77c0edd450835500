/** The windows of a browser share a session. Each tells the others of a sign-in or sign-out, and they ask for their caller. */
import { useEffect } from "react";
import { meQuery } from "../api/me";
import { queries } from "../api/query";

const channel = new BroadcastChannel("lakeport.session");

export function tellWindows() {
  channel.postMessage(null);
}

/** `isKnown`: this window has a caller. It may come from a sign-in at the issuer, which no script sees. */
export function useOtherWindows(isKnown: boolean) {
  useEffect(() => {
    channel.onmessage = () => void queries.invalidateQueries({ queryKey: meQuery.queryKey });
    return () => {
      channel.onmessage = null;
    };
  }, []);
  useEffect(() => {
    if (isKnown) tellWindows();
  }, [isKnown]);
}
