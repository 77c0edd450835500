/** The places in the navigation, and the letter after `g` that leads to each. */
import type { Operation } from "../api/me";
import type { IconName } from "../ui/icons";

export interface Place {
  name: "ask" | "tables" | "lineage" | "workflows" | "runs" | "approvals" | "bin" | "datasources" | "engines" | "plugins" | "tokens" | "audit" | "settings";
  group: "data" | "work" | "platform" | null;
  icon: IconName;
  letter: string;
  /** What the caller must be allowed to do to see it. */
  needs: Operation;
}

export const PLACES: readonly Place[] = [
  { name: "ask", group: null, icon: "ask", letter: "a", needs: "listTopics" },
  { name: "tables", group: "data", icon: "table", letter: "t", needs: "listTables" },
  { name: "lineage", group: "data", icon: "lineage", letter: "l", needs: "getLineage" },
  { name: "bin", group: "data", icon: "bin", letter: "b", needs: "listPendingDeletion" },
  { name: "workflows", group: "work", icon: "workflow", letter: "w", needs: "listWorkflows" },
  { name: "runs", group: "work", icon: "run", letter: "r", needs: "listExecutions" },
  { name: "approvals", group: "work", icon: "check", letter: "p", needs: "listWorkflows" },
  { name: "datasources", group: "platform", icon: "database", letter: "d", needs: "listDatasources" },
  { name: "engines", group: "platform", icon: "engine", letter: "e", needs: "listEngines" },
  { name: "plugins", group: "platform", icon: "plugin", letter: "u", needs: "listPlugins" },
  { name: "tokens", group: "platform", icon: "key", letter: "k", needs: "listTokens" },
  { name: "audit", group: "platform", icon: "audit", letter: "o", needs: "listAudit" },
  { name: "settings", group: "platform", icon: "settings", letter: "s", needs: "listSettings" },
];
