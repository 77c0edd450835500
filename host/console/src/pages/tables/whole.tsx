/** What is done to a table as a whole: made physical, moved to the recycle bin, brought back, dropped. */
import { api, type Schemas } from "../../api/client";
import { changed, type TableDetail } from "./api";
import type { Wanted } from "./change";
import { Users } from "./Users";
import type { TABLE_TEXTS } from "./texts-table";

type TableTexts = (typeof TABLE_TEXTS)["en"];
/** What a table in the recycle bin is called now, and was called. */
type Entry = Pick<Schemas["PendingDeletion"], "id" | "tableName" | "originTableName">;

export function makingPhysical(t: TableTexts, table: TableDetail): Wanted {
  return {
    tableId: table.id, title: t.makePhysicalOf(table.tableName), action: t.run, isAsked: true,
    lead: <p>{t.makePhysicalLead(table.cluster?.name ?? t.theDefaultSource)}</p>,
    send: (dryRun) => changed(api.POST("/api/v1/tables/{id}/physical", { params: { path: { id: table.id }, query: { dryRun } } })),
  };
}

export function softDeleting(t: TableTexts, table: TableDetail): Wanted {
  return {
    tableId: table.id, title: t.softDeleteOf(table.tableName), action: t.softDelete, typed: table.tableName, isDanger: true,
    lead: <><p>{t.softDeleteLead}</p><Users id={table.id} note={t.usersStay} /></>,
    send: (dryRun) => changed(api.POST("/api/v1/tables/{id}/soft-delete", {
      params: { path: { id: table.id }, query: { dryRun, confirmTableName: table.tableName } },
    })),
  };
}

export function restoring(t: TableTexts, entry: Entry): Wanted {
  return {
    tableId: entry.id, title: t.restoreOf(entry.originTableName), action: t.restore, isAsked: true,
    lead: <><p>{t.restoreLead(entry.originTableName)}</p><Users id={entry.id} /></>,
    send: (dryRun) => changed(api.POST("/api/v1/tables/{id}/restore", { params: { path: { id: entry.id }, query: { dryRun } } })),
  };
}

export function purging(t: TableTexts, entry: Entry): Wanted {
  return {
    tableId: entry.id, title: t.purgeOf(entry.originTableName), action: t.purge, typed: entry.tableName, isDanger: true, isLast: true,
    lead: <><p>{t.purgeLead(entry.originTableName, entry.tableName)}</p><Users id={entry.id} /></>,
    send: (dryRun) => changed(api.POST("/api/v1/tables/{id}/purge-now", {
      params: { path: { id: entry.id }, query: { dryRun, confirmTableName: entry.tableName } },
    })),
  };
}
