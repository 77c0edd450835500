/** The tables directly before and after a table. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api, data, type Schemas } from "../../api/client";
import { useTexts } from "../../i18n";
import { Icon } from "../../ui/icons";
import { marked } from "../../ui/marks";
import { Empty, Loaded, Section, Tag } from "../../ui/page";
import { TABLE_TEXTS } from "./texts-table";

type Graph = Schemas["LineageGraph"];

export function Neighbours({ id }: { id: number }) {
  const t = useTexts(TABLE_TEXTS);
  const query = useQuery({
    queryKey: ["lineage", "neighbours", id],
    queryFn: () => data(api.GET("/api/v1/lineage", { params: { query: { tableId: id, depth: 1 } } })),
  });
  const whole = <Link className="button plain" to="/lineage" search={{ table: id } as never}><Icon name="lineage" />{t.wholeLineage}</Link>;
  return (
    <Loaded query={query}>
      {(graph) => {
        if (graph.nodes.length <= 1 && graph.omitted.nodes === 0) return <Empty icon="lineage" title={t.noLineage}>{t.noLineageLead}</Empty>;
        return (
          <>
            <div className="row">{whole}{graph.omitted.nodes > 0 && <span className="small">{t.omitted(graph.omitted.nodes)}</span>}</div>
            <div className="columns">
              <Side title={t.upstream} graph={graph} id={id} distance={-1} />
              <Side title={t.downstream} graph={graph} id={id} distance={1} />
            </div>
          </>
        );
      }}
    </Loaded>
  );
}

function Side({ title, graph, id, distance }: { title: string; graph: Graph; id: number; distance: 1 | -1 }) {
  const t = useTexts(TABLE_TEXTS);
  // A table may stand on both sides; its edges say so, its distance knows one side only.
  const nodes = graph.nodes.flatMap((node) => {
    const edge = graph.edges.find((one) => (distance < 0
      ? one.source === node.id && one.target === String(id) : one.target === node.id && one.source === String(id)));
    return edge ? [{ node, tasks: edge.taskCount }] : [];
  });
  return (
    <Section title={title}>
      {nodes.length === 0 && <p className="faint">{distance < 0 ? t.noUpstream : t.noDownstream}</p>}
      <ul className="tables-plain tables-neighbours">
        {nodes.map(({ node, tasks }) => (
          <li key={node.id}>
            <div className="row">
              <Link to={`/tables/${node.id}`} search={{ tab: "lineage" } as never} className="strong">{marked(node.tableName)}</Link>
              {node.layer && <Tag>{node.layer}</Tag>}
              <span className="small">{t.byTasks(tasks)}</span>
            </div>
            {node.tableComment && <div className="small">{node.tableComment}</div>}
          </li>
        ))}
      </ul>
    </Section>
  );
}
