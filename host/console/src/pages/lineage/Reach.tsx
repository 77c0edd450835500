/** All that a table is made from, or all that is made from it, as a list that can be saved. */
import { useQuery } from "@tanstack/react-query";
import { useFormat, useTexts } from "../../i18n";
import { useAddress } from "../../search";
import { Actions, Button, Dialog } from "../../ui/controls";
import { marked } from "../../ui/marks";
import { Loaded, Tag } from "../../ui/page";
import { saveFile } from "../../ui/save";
import { type Columns, DataTable } from "../../ui/table";
import { graphQuery, type LineageNode } from "./data";
import { TEXTS } from "./texts";

const LISTED_MAX = 5_000;

export function Reach({ node, side, withDeprecated, onClose }: {
  node: LineageNode; side: "upstream" | "downstream"; withDeprecated: boolean; onClose: () => void;
}) {
  const t = useTexts(TEXTS);
  const format = useFormat();
  const { set } = useAddress();
  const graph = useQuery(graphQuery({
    tableId: Number(node.id), direction: side, maxNodes: LISTED_MAX, ...(withDeprecated ? { includeDeprecated: true } : {}),
  }));
  const columns: Columns<LineageNode> = [
    {
      header: t.name, accessorFn: (one) => one.tableName,
      cell: ({ row: { original } }) => (
        <button type="button" className="lineage-link" onClick={() => set({ table: Number(original.id), selected: undefined, edge: undefined, focus: undefined, expand: undefined, list: undefined }, true)}>
          {marked(original.tableName)}
        </button>
      ),
    },
    { header: t.stepsAway, accessorFn: (one) => Math.abs(one.distance ?? 0) },
    { header: t.layer, accessorFn: (one) => one.layer ?? "", cell: ({ row }) => row.original.layer && <Tag>{row.original.layer}</Tag> },
    { header: t.database, accessorFn: (one) => one.dbName },
    { header: t.business, accessorFn: (one) => one.businessDomain ?? "" },
    { header: t.domain, accessorFn: (one) => one.dataDomain ?? "" },
  ];
  return (
    <Dialog title={side === "upstream" ? t.originsTitle(node.tableName) : t.impactTitle(node.tableName)} isOpen isWide isDismissable onClose={onClose}>
      <Loaded query={graph}>
        {({ nodes, omitted }) => {
          const others = nodes.filter((one) => one.id !== node.id);
          return (
            <>
              <p>{others.length === 0 ? t.impactNone : t.nodes(format.number(others.length))}</p>
              {others.length > 0 && <DataTable label={t.nodes(format.number(others.length))} rows={others} columns={columns} keyOf={(one) => one.id} />}
              {omitted.nodes > 0 && <p className="small">{t.cut(format.number(omitted.nodes))}</p>}
              {others.length > 0 && (
                <Actions>
                  <Button icon="download" onPress={() => saveCsv(`${node.tableName}-${side}.csv`, others)}>{t.saveCsv}</Button>
                </Actions>
              )}
            </>
          );
        }}
      </Loaded>
    </Dialog>
  );
}

function saveCsv(name: string, nodes: readonly LineageNode[]) {
  // A cell that a spreadsheet would compute is marked as text.
  const cell = (value: unknown) => {
    const text = value === null || value === undefined ? "" : String(value);
    return `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  };
  const head = ["table", "database", "steps", "layer", "businessDomain", "dataDomain", "comment"];
  const rows = nodes.map((one) => [one.tableName, one.dbName, Math.abs(one.distance ?? 0), one.layer, one.businessDomain, one.dataDomain, one.tableComment]);
  const text = [head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n");
  // The mark lets spreadsheets read UTF-8.
  saveFile(name, new Blob(["\uFEFF", text, "\r\n"], { type: "text/csv" }));
}
