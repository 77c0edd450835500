import { useTexts } from "../i18n";
import { Button } from "../ui/controls";
import { Failure, Page } from "../ui/page";
import { TEXTS } from "./texts";

export function PageFailed({ error }: { error: unknown }) {
  const t = useTexts(TEXTS);
  return (
    <Page title={t.pageFailed} actions={<Button icon="refresh" onPress={() => window.location.reload()}>{t.reload}</Button>}>
      <Failure error={error} />
    </Page>
  );
}
