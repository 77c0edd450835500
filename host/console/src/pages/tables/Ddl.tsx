/** The statement that makes the table, as its database gives it. */
import { useQuery } from "@tanstack/react-query";
import { api, data } from "../../api/client";
import { RUNS_STATEMENT } from "../../api/live";
import { useTexts } from "../../i18n";
import { Button } from "../../ui/controls";
import { CopyButton } from "../../ui/copy";
import { Code, Empty, Loaded, Section } from "../../ui/page";
import type { TableDetail } from "./api";
import { TABLE_TEXTS } from "./texts-table";

export function Ddl({ table, onMake }: { table: TableDetail; onMake: (() => void) | undefined }) {
  const t = useTexts(TABLE_TEXTS);
  const query = useQuery({
    queryKey: ["tables", table.id, "ddl"],
    queryFn: () => data(api.GET("/api/v1/tables/{id}/ddl", { params: { path: { id: table.id } } })),
    enabled: table.physical,
    staleTime: 30_000,
    meta: RUNS_STATEMENT,
  });
  if (!table.physical) {
    return (
      <Empty icon="database" title={t.notPhysical}>
        <p>{t.notPhysicalLead}</p>
        {onMake && <Button kind="primary" icon="database" onPress={onMake}>{t.makePhysical}</Button>}
      </Empty>
    );
  }
  return (
    <Loaded query={query}>
      {(ddl) => <Section title="DDL" actions={<CopyButton text={ddl} />}><Code isTall>{ddl}</Code></Section>}
    </Loaded>
  );
}
