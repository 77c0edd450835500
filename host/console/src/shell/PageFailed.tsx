import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { meQuery } from "../api/me";
import { useTexts } from "../i18n";
import { Button } from "../ui/controls";
import { useMounted } from "../ui/mounted";
import { Failure, Page } from "../ui/page";
import { isAway, isThere } from "./away";
import { TEXTS } from "./texts";

/** A window that is no older than this was just loaded: another time would not help. */
const LOADED_MS = 10_000;

export function PageFailed({ error }: { error: unknown }) {
  const t = useTexts(TEXTS);
  const isMounted = useMounted();
  // Without the server, the browser would show an error of its own instead of the console.
  const loadIfThere = async () => {
    if ((await isThere()) && isMounted.current) window.location.reload();
  };
  const isWell = useQuery(meQuery).error === null;
  const wasWell = useRef(true);
  useEffect(() => {
    // The server is back. Nothing is typed in a page that failed.
    if (isWell && !wasWell.current) window.location.reload();
    wasWell.current = isWell;
  }, [isWell]);
  useEffect(() => {
    // The code of the page did not come, and the server may be there: it was started again, perhaps with another console.
    if (isAway(error) && performance.now() > LOADED_MS) void loadIfThere();
    // Otherwise the frame learns whether it is away.
    else void isThere();
  }, [error]); // eslint-disable-line react-hooks/exhaustive-deps
  return (
    <Page title={t.pageFailed} actions={<Button icon="refresh" onPress={() => void loadIfThere()}>{t.reload}</Button>}>
      <Failure error={error} />
    </Page>
  );
}
