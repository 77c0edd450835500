/** The pages and their addresses. Each loads when it is opened. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { type Failed, unreachable } from "./api/client";
import { NotFound } from "./shell/NotFound";
import { PageFailed } from "./shell/PageFailed";
import { Shell } from "./shell/Shell";
import { Loading } from "./ui/page";

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

/** What stands behind `?` of a page; the pages read the members that they know. */
type Search = Record<string, string | number | boolean | undefined>;
const anySearch = (search: Record<string, unknown>): Search => search as Search;

// One line per page. A component that is named `default` is the page.
const pages = [
  createRoute({ getParentRoute: () => root, path: "/", beforeLoad: () => { throw redirect({ to: "/ask" }); } }),
  page("/ask", () => import("./pages/ask/AskPage")),
  page("/ask/$topicId", () => import("./pages/ask/AskPage")),
  page("/tables", () => import("./pages/tables/TablesPage")),
  page("/tables/$id", () => import("./pages/tables/TablePage")),
  page("/lineage", () => import("./pages/lineage/LineagePage")),
  page("/workflows", () => import("./pages/workflows/WorkflowsPage")),
  page("/workflows/$id", () => import("./pages/workflows/WorkflowPage")),
  page("/workflows/$id/runs/$instanceId", () => import("./pages/runs/RunPage")),
  page("/runs", () => import("./pages/runs/RunsPage")),
  page("/approvals", () => import("./pages/workflows/ApprovalsPage")),
  page("/bin", () => import("./pages/bin/BinPage")),
  page("/datasources", () => import("./pages/datasources/DatasourcesPage")),
  page("/datasources/$id", () => import("./pages/datasources/DatasourcePage")),
  page("/engines", () => import("./pages/engines/EnginesPage")),
  page("/plugins", () => import("./pages/plugins/PluginsPage")),
  page("/plugins/$name", () => import("./pages/plugins/PluginPage")),
  page("/tokens", () => import("./pages/admin/TokensPage")),
  page("/audit", () => import("./pages/admin/AuditPage")),
  page("/settings", () => import("./pages/admin/SettingsPage")),
] as const;

type Load = () => Promise<{ default: () => React.ReactNode }>;

function page(path: string, load: Load) {
  return createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: anySearch,
    component: lazyRouteComponent(onceFailed(load)),
    errorComponent: PageFailed,
  });
}

/**
 * A page whose code did not come is not asked for again: the browser may remember the failure, and a style is asked for
 * only once. `PageFailed` loads the whole window again when the server answers.
 */
function onceFailed(load: Load): Load {
  let failure: Failed | undefined;
  return async () => {
    if (failure) throw failure;
    try {
      return await load();
    } catch (reason) {
      failure = unreachable(reason);
      throw failure;
    }
  };
}

/** While the code of a page loads; not at once, so that a quick one does not flicker. */
const PENDING_MS = 300;

export const router = createRouter({
  routeTree: root.addChildren([...pages]),
  defaultPreload: "intent",
  defaultPendingMs: PENDING_MS,
  defaultPendingComponent: () => <div className="page"><Loading /></div>,
  scrollRestoration: true,
});
