/** The audit log: filters in the address, a page of records, and one record in full. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Button, Select, TextField } from "../../ui/controls";
import { Empty, Loaded, Page, Tag, Time } from "../../ui/page";
import { type Columns, DataTable, Pager } from "../../ui/table";
import { useTyped } from "../../ui/typed";
import { type AuditRecord, CHANGING, RESOURCES } from "./audit";
import { Actor, Named, Record as RecordDialog } from "./Record";
import { TEXTS } from "./texts";
import { CODES } from "./texts-codes";
import "./style.css";

const FILTERS = ["operation", "resource", "resourceId", "actor", "outcome", "from", "to"] as const;
const PAGE_SIZE = 50;

/** `2026-11-29T03:19` of the control is `2026-11-29 03:19:00` of the interface. */
const asTime = (text: string) => {
  const plain = text.replace("T", " ");
  return plain.length === 16 ? `${plain}:00` : plain;
};

export default function AuditPage() {
  const t = useTexts(TEXTS);
  const codes = useTexts(CODES);
  const { text, number, set } = useAddress();
  const pageNum = number("page", 1);
  const given = (name: string, as: string) => (text(name) === "" ? {} : { [as]: text(name) });
  const query = {
    ...given("operation", "operation"), ...given("resource", "resource"), ...given("resourceId", "resourceId"),
    ...given("actor", "actor"), ...given("outcome", "outcome"),
    ...(text("from") === "" ? {} : { startTime: asTime(text("from")) }),
    ...(text("to") === "" ? {} : { endTime: asTime(text("to")) }),
  };
  const audit = useQuery({
    queryKey: ["audit", query, pageNum],
    queryFn: () => data<Schemas["PageOfAuditRecord"]>(api.GET("/api/v1/audit", { params: { query: { ...query, pageNum, pageSize: PAGE_SIZE } } })),
    placeholderData: keepPreviousData,
  });
  const change = (part: Record<string, string | undefined>) => set({ ...part, page: undefined, record: undefined }, true);
  const isFiltered = FILTERS.some((name) => text(name) !== "");
  const clear = () => change(Object.fromEntries(FILTERS.map((name) => [name, undefined])));
  const choices = (all: readonly string[], value: string, any: string, labels: Record<string, string> = {}) => [
    { value: "", label: any },
    ...(value !== "" && !all.includes(value) ? [value, ...all] : all).map((one) => ({ value: one, label: Object.hasOwn(labels, one) ? labels[one]! : one })),
  ];
  return (
    <Page title={t.audit} lead={t.auditLead}>
      <div className="filters">
        <Select label={t.operation} value={text("operation")} onChange={(operation) => change({ operation })} choices={choices(CHANGING, text("operation"), t.anyOperation, codes.operations)} />
        <Select label={t.resource} value={text("resource")} onChange={(resource) => change({ resource })}
          choices={choices(RESOURCES, text("resource"), t.anyResource, t.resources)} />
        <TypedFilter label={t.resourceId} name="resourceId" />
        <TypedFilter label={t.actor} name="actor" />
        <Select label={t.outcome} value={text("outcome")} onChange={(outcome) => change({ outcome })}
          choices={choices(["success"], text("outcome"), t.anyOutcome, { ...codes.outcomes, success: t.success })} />
        <TypedFilter label={t.from} name="from" isTime />
        <TypedFilter label={t.to} name="to" isTime />
        {isFiltered && <Button kind="quiet" icon="close" onPress={clear}>{t.clear}</Button>}
      </div>
      <Loaded query={audit}>
        {(page) => (
          <>
            <Records records={page.records} isFiltered={isFiltered} onFilter={(part) => change(part)} onOpen={(id) => set({ record: id }, true)} />
            <Pager page={pageNum} pageSize={PAGE_SIZE} total={page.total} onChange={(next) => set({ page: next === 1 ? undefined : next }, true)} />
            <Opened records={page.records} id={text("record")} onClose={() => set({ record: undefined })}
              onFilter={(record) => change({ ...Object.fromEntries(FILTERS.map((name) => [name, undefined])), resource: record.resource, resourceId: record.resourceId ?? "" })} />
          </>
        )}
      </Loaded>
      <p className="small">{t.zone}</p>
    </Page>
  );
}

function TypedFilter({ label, name, isTime }: { label: string; name: string; isTime?: boolean }) {
  const [value, change] = useTyped(name, ["page", "record"]);
  return <TextField label={label} value={value} onChange={change} type={isTime ? "datetime-local" : "text"} />;
}

function Opened({ records, id, onClose, onFilter }: {
  records: AuditRecord[]; id: string; onClose: () => void; onFilter: (record: AuditRecord) => void;
}) {
  const found = records.find((one) => String(one.id) === id);
  // New records move it to the next page while it is open.
  const [kept, setKept] = useState(found);
  if (found && found !== kept) setKept(found);
  const record = found ?? (String(kept?.id) === id ? kept : undefined);
  return record ? <RecordDialog record={record} onClose={onClose} onFilter={() => onFilter(record)} /> : null;
}

function Records({ records, isFiltered, onFilter, onOpen }: {
  records: AuditRecord[]; isFiltered: boolean; onFilter: (part: Record<string, string>) => void; onOpen: (id: number) => void;
}) {
  const t = useTexts(TEXTS);
  const codes = useTexts(CODES);
  // Each value is a filter at hand.
  const filter = (value: string, part: Record<string, string>, shown: ReactNode = value) => (
    <button type="button" className="admin-filter" title={t.filterBy(typeof shown === "string" ? shown : value)} onClick={() => onFilter(part)}>{shown}</button>
  );
  const columns: Columns<AuditRecord> = [
    {
      header: t.time, accessorFn: (record) => record.time,
      cell: ({ row }) => (
        <button type="button" className="admin-open" aria-label={`${t.details} ${row.original.id}`} onClick={() => onOpen(row.original.id)}>
          <Time value={row.original.time} />
        </button>
      ),
    },
    {
      header: t.actor, accessorFn: (record) => record.actor,
      cell: ({ row: { original } }) => filter(original.actor, { actor: original.actor }, <Actor record={original} />),
    },
    { header: t.operation, accessorFn: (record) => record.operation, cell: ({ row: { original: { operation } } }) => filter(operation, { operation }, <Named code={operation} names={codes.operations} />) },
    {
      header: t.resource, accessorFn: (record) => record.resource,
      cell: ({ row: { original } }) => (
        <>
          {filter(original.resource, { resource: original.resource }, t.resources[original.resource] ?? original.resource)}{" "}
          {original.resourceId !== null && filter(original.resourceId, { resource: original.resource, resourceId: original.resourceId })}
        </>
      ),
    },
    {
      header: t.outcome, accessorFn: (record) => record.outcome,
      cell: ({ row: { original: { outcome, status } } }) => (
        <Tag tone={outcome === "success" ? "good" : "bad"} title={outcome === "success" ? String(status) : `${status} ${outcome}`}>
          {filter(outcome, { outcome }, outcome === "success" ? t.success : codes.outcomes[outcome] ?? outcome)}
        </Tag>
      ),
    },
  ];
  return (
    <div className="admin-wide">
      <DataTable label={t.audit} rows={records} columns={columns} isPage keyOf={(record) => String(record.id)}
        empty={isFiltered ? <Empty icon="search" title={t.noFit}>{t.noFitNote}</Empty> : <Empty icon="audit" title={t.noRecords} />} />
    </div>
  );
}
