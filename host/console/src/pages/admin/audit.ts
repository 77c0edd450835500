/** Records of the audit log: what they mean, and where they lead. */
import { OPERATIONS } from "../../api/operations";
import type { Schemas } from "../../api/client";

export type AuditRecord = Schemas["AuditRecord"];

/** Operations that change something: only these have records. */
export const CHANGING = Object.entries(OPERATIONS).filter(([, operation]) => operation.method !== "get").map(([name]) => name).sort();

export const RESOURCES = [
  "agent_task", "backfill", "datasource", "engine", "execution", "glossary_term", "key", "message", "model", "pending_removal", "plugin", "publication", "table", "task",
  "token", "tool_settings", "topic", "verified_question", "workflow",
];

export type Change = "created" | "removed" | "changed" | "same" | "none" | "refused";

export function changeOf({ outcome, beforeDigest, afterDigest }: AuditRecord): Change {
  if (outcome !== "success") return "refused";
  if (beforeDigest === null && afterDigest === null) return "none";
  if (beforeDigest === null) return "created";
  if (afterDigest === null) return "removed";
  return beforeDigest === afterDigest ? "same" : "changed";
}

/** The page of a resource, where it has one. */
export function pageOf({ resource, resourceId }: AuditRecord): { to: string; search?: Record<string, string> } | null {
  if (resourceId === null) return null;
  const id = encodeURIComponent(resourceId);
  switch (resource) {
    case "table": return { to: `/tables/${id}` };
    case "workflow": return { to: `/workflows/${id}` };
    case "datasource": return { to: `/datasources/${id}` };
    case "engine": return { to: "/engines", search: { engine: resourceId } };
    case "plugin": return { to: `/plugins/${id}` };
    case "token": return { to: "/tokens" };
    default: return null;
  }
}

/** A digest is long: the beginning of its own part tells it from the others. */
export const shortDigest = (digest: string) => digest.slice(digest.indexOf(":") + 1).slice(0, 12);
