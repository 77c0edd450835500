/** What the pages of workflows read, and small things that several of them need. */
import { type QueryClient, useQuery } from "@tanstack/react-query";
import { api, bare, data, type Schemas } from "../../api/client";

export type Workflow = Schemas["Workflow"];
export type WorkflowDetail = Schemas["WorkflowDetail"];
export type Task = Schemas["Task"];
export type Publication = Schemas["Publication"];
export type Comparison = Schemas["VersionComparison"];

/** How often a page asks again while the server works on something. */
export const BUSY_MS = 2_000;

export function useWorkflow(id: number) {
  return useQuery({
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

export function useEngines() {
  return useQuery({ queryKey: ["engines"], queryFn: () => data<Schemas["Engine"][]>(api.GET("/api/v1/engines")) });
}

/** All that a choice of data sources needs. */
export function useDatasources() {
  return useQuery({
    queryKey: ["datasources", "choices"],
    queryFn: async () => (await data(api.GET("/api/v1/datasources", { params: { query: { pageSize: 500 } } }))).records,
    staleTime: 60_000,
  });
}

/** A resource with its `ETag`, by which a change of something that changed meanwhile is refused. */
export async function tagged<T>(
  call: Promise<{ data?: { data: T }; error?: unknown; response: Response }>,
): Promise<{ value: T; tag: string | undefined }> {
  const answered = await call;
  const value = (await bare(Promise.resolve(answered))).data;
  return { value, tag: answered.response.headers.get("ETag") ?? undefined };
}

/** The header that makes a change fail with 412 if the resource has another `ETag` by now. */
export function ifMatch(tag: string | undefined) {
  return tag === undefined ? {} : { "If-Match": tag };
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

/** A member of the address; one that is a number stands there as one and not in quotation marks. */
export function asMember(text: string): string | number {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : text;
}

/** Gives the reader a file. */
export function saveFile(name: string, text: string, type = "application/json") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export async function exportWorkflow(id: number) {
  const answer = await data(api.GET("/api/v1/workflows/{id}/export-json", { params: { path: { id } } }) as never) as Schemas["WorkflowExport"];
  saveFile(answer.fileName, `${JSON.stringify(answer.content, null, 2)}\n`);
}
