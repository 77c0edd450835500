/** The versions of a workflow: two of them side by side, and the way back to one. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, data, type Schemas } from "../../api/client";
import { useMay } from "../../api/me";
import { useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Confirm } from "../../ui/confirm";
import { Button, Select } from "../../ui/controls";
import { Icon } from "../../ui/icons";
import { Loaded, Section, Tag, Time } from "../../ui/page";
import { DataTable, Pager } from "../../ui/table";
import { ComparisonView } from "./Comparison";
import { type Comparison, outdate, type WorkflowDetail } from "./data";
import { useNames } from "./names";
import { TEXTS } from "./texts";

type Version = Schemas["WorkflowVersion"];

const PAGE = 20;

export function VersionsTab({ workflow }: { workflow: WorkflowDetail }) {
  const t = useTexts(TEXTS).versions;
  const may = useMay();
  const client = useQueryClient();
  const { text, number, set } = useAddress();
  const [wanted, setWanted] = useState<Version | null>(null);
  const [outcome, setOutcome] = useState<Schemas["RollbackView"] | null>(null);
  const page = number("page", 1);
  const { id } = workflow;
  const query = useQuery({
    queryKey: ["workflows", id, "versions", page, workflow.currentVersion],
    queryFn: () => data<Schemas["PageOfWorkflowVersion"]>(api.GET("/api/v1/workflows/{id}/versions", {
      params: { path: { id }, query: { pageNum: page, pageSize: PAGE } },
    })),
    placeholderData: keepPreviousData,
  });
  const v1 = Number(text("v1"));
  const v2 = Number(text("v2"));
  const isComparing = v1 > 0 && v2 > 0;
  const compare = (from: number, to: number) => set({ v1: from, v2: to }, true);
  const choices = Array.from({ length: workflow.versionsTotal }, (_, place) => {
    const value = String(workflow.currentVersion - place);
    return { value, label: t.version(Number(value)) };
  }).filter((one) => Number(one.value) > 0);
  return (
    <>
      {outcome && (
        <div className="note" role="status">
          <Icon name="check" />
          <div>
            <p>{t.rolledBack(outcome.rolledBackTo, outcome.version)}</p>
            {outcome.warnings.length > 0 && <ul>{outcome.warnings.map((one, place) => <li key={place}>{one}</li>)}</ul>}
          </div>
        </div>
      )}
      {isComparing && (
        <Section title={t.comparing}
          actions={<Button kind="quiet" icon="close" onPress={() => set({ v1: undefined, v2: undefined }, true)}>{t.closeComparison}</Button>}>
          <div className="row end">
            <Select label={t.before} value={String(v1)} onChange={(value) => compare(Number(value), v2)} choices={choices} />
            <Select label={t.after} value={String(v2)} onChange={(value) => compare(v1, Number(value))} choices={choices} />
            <Button onPress={() => compare(v2, v1)}>{t.swap}</Button>
          </div>
          <Compared workflowId={id} v1={v1} v2={v2} />
        </Section>
      )}
      <Section title={t.title}>
        <Loaded query={query}>
          {(versions) => (
            <>
              <DataTable<Version> label={t.title} rows={versions.records} isPage keyOf={(one) => String(one.version)} columns={[
                {
                  header: t.number, id: "number",
                  cell: ({ row: { original: one } }) => (
                    <span className="row">
                      <span className="strong">{one.version}</span>
                      {one.version === workflow.currentVersion && <Tag tone="busy">{t.current}</Tag>}
                      {one.version === workflow.publishedVersion && <Tag tone="good">{t.deployed}</Tag>}
                    </span>
                  ),
                },
                { header: t.source, id: "source", cell: ({ row }) => t.sources[row.original.source] ?? row.original.source },
                { header: t.comment, id: "comment", cell: ({ row }) => row.original.comment ?? "" },
                { header: t.by, id: "by", cell: ({ row }) => row.original.createdBy },
                { header: t.at, id: "at", cell: ({ row }) => <Time value={row.original.createdAt} /> },
                {
                  header: "", id: "actions",
                  cell: ({ row: { original: one } }) => (
                    <span className="row">
                      {one.version > 1 && <Button onPress={() => compare(one.version - 1, one.version)}>{t.whatChanged}</Button>}
                      {one.version !== workflow.currentVersion && (
                        <Button onPress={() => compare(one.version, workflow.currentVersion)}>{t.withCurrent}</Button>
                      )}
                      {one.version !== workflow.currentVersion && may("rollbackWorkflow") && (
                        <Button onPress={() => setWanted(one)}>{t.rollback}</Button>
                      )}
                    </span>
                  ),
                },
              ]} />
              <Pager page={page} pageSize={PAGE} total={versions.total}
                onChange={(next) => set({ page: next === 1 ? undefined : next }, true)} />
            </>
          )}
        </Loaded>
      </Section>
      <Confirm title={t.rollbackTo(wanted?.version ?? 0)} action={t.rollback} isOpen={wanted !== null} onClose={() => setWanted(null)}
        onConfirm={async () => {
          const done = await data<Schemas["RollbackView"]>(api.POST("/api/v1/workflows/{id}/versions/{versionId}/rollback", {
            params: { path: { id, versionId: wanted!.versionId } },
          }));
          setOutcome(done);
          await outdate(client);
        }}>
        <p>{t.rollbackLead(wanted?.version ?? 0)}</p>
      </Confirm>
    </>
  );
}

function Compared({ workflowId, v1, v2 }: { workflowId: number; v1: number; v2: number }) {
  const t = useTexts(TEXTS).versions;
  const query = useQuery({
    queryKey: ["workflows", workflowId, "compare", v1, v2],
    queryFn: () => data<Comparison>(api.POST("/api/v1/workflows/{id}/versions/compare", {
      params: { path: { id: workflowId } }, body: { v1, v2 },
    })),
    staleTime: Infinity,
  });
  const names = useNames(query.data);
  return (
    <Loaded query={query}>
      {(comparison) => <ComparisonView comparison={comparison} before={t.version(v1)} after={t.version(v2)} {...names} />}
    </Loaded>
  );
}
