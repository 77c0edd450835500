import { Link } from "@tanstack/react-router";
import { useTexts } from "../i18n";
import { Empty, Page } from "../ui/page";
import { TEXTS } from "./texts";

export function NotFound() {
  const t = useTexts(TEXTS);
  return (
    <Page title={t.notFound}>
      <Empty icon="warning" title={t.notFoundLead}><Link to="/">{t.home}</Link></Empty>
    </Page>
  );
}
