import { useQuery } from "@tanstack/react-query";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Tabs } from "../../ui/controls";
import { Page } from "../../ui/page";
import { AllExecutions, FailedExecutions, RunningExecutions } from "./ExecutionLists";
import { GridTab } from "./GridTab";
import { TEXTS } from "./texts";
import { Trend } from "./Trend";
import "./style.css";

const TABS = ["grid", "running", "failed", "all"] as const;
type TabName = (typeof TABS)[number];

export default function RunsPage() {
  const t = useTexts(TEXTS);
  const { text, set } = useAddress();
  const tab = (TABS as readonly string[]).includes(text("tab")) ? (text("tab") as TabName) : "grid";
  const running = useQuery({
    queryKey: ["executions", "running"],
    queryFn: () => data<Schemas["Execution"][]>(api.GET("/api/v1/executions/running")),
    refetchInterval: 5_000,
  });
  const count = running.data?.length ?? 0;
  const task = Number(text("taskId"));
  const open = (name: TabName) => set({
    tab: name === "grid" ? undefined : name, run: undefined, task: undefined, execution: undefined, page: undefined, status: undefined, q: undefined,
  }, true);
  return (
    <Page title={t.title} lead={t.lead}>
      <Trend taskId={tab === "all" && task > 0 ? task : undefined} />
      <Tabs label={t.title} value={tab} onChange={open} tabs={[
        { id: "grid", title: t.tabs.grid, content: <GridTab /> },
        { id: "running", title: count > 0 ? `${t.tabs.running} (${count})` : t.tabs.running, content: <RunningExecutions query={running} /> },
        { id: "failed", title: t.tabs.failed, content: <FailedExecutions /> },
        { id: "all", title: t.tabs.all, content: <AllExecutions /> },
      ]} />
    </Page>
  );
}
