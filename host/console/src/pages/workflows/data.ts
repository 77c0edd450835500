/** What the pages of workflows read, and small things that several of them need. */
import { keepPreviousData, type QueryClient, useQuery } from "@tanstack/react-query";
import { api, data, type Schemas } from "../../api/client";
import { datasourcesQuery } from "../../api/datasources";
import { saveFile } from "../../ui/save";

export type Workflow = Schemas["Workflow"];
export type WorkflowDetail = Schemas["WorkflowDetail"];
export type Task = Schemas["Task"];
export type Publication = Schemas["Publication"];
export type Comparison = Schemas["VersionComparison"];

/** How often a page asks again while the server works on something. */
export const BUSY_MS = 2_000;

export function useWorkflow(id: number, isEnabled = true) {
  return useQuery({
    enabled: isEnabled,
    queryKey: ["workflows", id],
    queryFn: () => data<WorkflowDetail>(api.GET("/api/v1/workflows/{id}", { params: { path: { id } } })),
    refetchInterval: (query) => (isMoving(query.state.data) ? BUSY_MS : false),
  });
}

/** A deployment or a change in the engine is under way. */
function isMoving(workflow: WorkflowDetail | undefined): boolean {
  return workflow !== undefined
    && (workflow.engineState === "pending" || workflow.publications.some((one) => one.deployment?.state === "pending"));
}

/** As many as one answer has. */
const MOST = 500;

/** The workflows of a choice: those with the keyword in their name. */
export function useChoices(keyword: string) {
  return useQuery({
    queryKey: ["workflows", "list", { keyword, pageSize: MOST }],
    queryFn: () => data<Schemas["PageOfWorkflow"]>(api.GET("/api/v1/workflows", {
      params: { query: { pageSize: MOST, ...(keyword ? { keyword } : {}) } },
    })),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

export function useEngines() {
  return useQuery({ queryKey: ["engines"], queryFn: () => data<Schemas["Engine"][]>(api.GET("/api/v1/engines")) });
}

export function useDatasources() {
  return useQuery(datasourcesQuery);
}

/** What the publication of a version would change. */
export function usePublicationPreview({ id, publishedVersion }: WorkflowDetail, version: number, isEnabled = true) {
  return useQuery({
    queryKey: ["workflows", id, "publish-preview", version, publishedVersion],
    queryFn: () => data<Schemas["PublicationPreview"]>(api.GET("/api/v1/workflows/{id}/publish/preview", {
      params: { path: { id }, query: { version } },
    })),
    enabled: isEnabled,
  });
}

/** The publication that waits for a decision. */
export function underReview(workflow: WorkflowDetail): Publication | undefined {
  return workflow.publications.find((one) => one.status === "PENDING");
}

/** Approved, but the deployment failed: it may be approved again. Only the latest counts. */
export function failedDeployment(workflow: WorkflowDetail): Publication | undefined {
  const latest = workflow.publications[0];
  return latest?.status === "APPROVED" && latest.deployment?.state === "failed" ? latest : undefined;
}

/** After a change of a workflow everything about it is read again. */
export function outdate(client: QueryClient) {
  return Promise.all(["workflows", "tasks", "lineage"].map((first) => client.invalidateQueries({ queryKey: [first] })));
}

/** A wall time `yyyy-MM-dd HH:mm:ss` of one zone as that of another. */
export function inZone(text: string, from: string, to: string): string {
  try {
    const asUtc = new Date(`${text.replace(" ", "T")}Z`).getTime();
    // The offset at the wall time taken for UTC may be that of the other side of a change of clocks: look again.
    const guess = asUtc - offsetAt(asUtc, from);
    const instant = asUtc - offsetAt(guess, from);
    return new Date(instant + offsetAt(instant, to)).toISOString().slice(0, 19).replace("T", " ");
  } catch {
    return text;
  }
}

function offsetAt(instant: number, zone: string): number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
  });
  const part = Object.fromEntries(format.formatToParts(new Date(instant)).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(part.year!, part.month! - 1, part.day!, part.hour!, part.minute!, part.second!) - Math.floor(instant / 1000) * 1000;
}

export function saveExport({ fileName, content }: Schemas["WorkflowExport"]) {
  saveFile(fileName, new Blob([`${JSON.stringify(content, null, 2)}\n`], { type: "application/json" }));
}

export async function exportWorkflow(id: number) {
  saveExport(await data(api.GET("/api/v1/workflows/{id}/export-json", { params: { path: { id } } }) as never) as Schemas["WorkflowExport"]);
}
