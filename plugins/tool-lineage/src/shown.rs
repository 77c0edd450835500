//! The output for a part of the graph: two lists, the nearest tables first, and a table for the user.

use std::cmp::Ordering;

use lakeport_sdk::serde_json::{Value, json};
use lakeport_sdk::tool::Outcome;
use lakeport_sdk::tool::lineage::{Graph, Node};
use lakeport_sdk::tool::tables::TableHead;

/// Output and artifact for the graph around a table.
pub fn outcome(table: &TableHead, graph: &Graph) -> Outcome {
    let mut nodes: Vec<&Node> = graph.nodes.iter().filter(|node| node.table.id != table.id).collect();
    nodes.sort_by(|a, b| nearer(a, b));
    let side = |sign: i32| -> Vec<Value> {
        nodes.iter().filter(|node| node.distance.signum() == sign).map(|node| in_list(node)).collect()
    };
    let edges: Vec<Value> = graph
        .edges
        .iter()
        .map(|edge| json!({"source": edge.source, "target": edge.target, "tasks": edge.tasks}))
        .collect();
    let output = json!({
        "table": {
            "id": table.id,
            "name": table.name,
            "datasource": table.datasource,
            "database": table.database,
            "layer": table.layer,
            "comment": table.comment,
        },
        "upstream": side(-1),
        "downstream": side(1),
        "edges": edges,
        "omitted": graph.omitted_nodes,
    });
    let outcome = Outcome { truncated: graph.omitted_nodes > 0, ..Outcome::new(&output) };
    if nodes.is_empty() { outcome } else { outcome.artifact("table", &artifact(&nodes, graph.omitted_nodes)) }
}

/// Upstream before downstream, then by steps, then by name.
fn nearer(a: &Node, b: &Node) -> Ordering {
    let key = |node: &Node| (node.distance > 0, node.distance.unsigned_abs());
    key(a).cmp(&key(b)).then_with(|| a.table.name.cmp(&b.table.name)).then(a.table.id.cmp(&b.table.id))
}

fn in_list(node: &Node) -> Value {
    let table = &node.table;
    json!({
        "id": table.id,
        "name": table.name,
        "datasource": table.datasource,
        "database": table.database,
        "layer": table.layer,
        "distance": node.distance,
    })
}

fn artifact(nodes: &[&Node], omitted: u32) -> Value {
    let column = |name: &str, kind: &str| json!({"name": name, "type": kind});
    let rows: Vec<Value> = nodes
        .iter()
        .map(|node| {
            let table = &node.table;
            json!([table.name, table.datasource, table.database, table.layer, node.distance])
        })
        .collect();
    json!({
        "columns": [
            column("table", "TEXT"),
            column("datasource", "TEXT"),
            column("database", "TEXT"),
            column("layer", "TEXT"),
            column("distance", "INTEGER"),
        ],
        "row_count": rows.len(),
        "rows": rows,
        "truncated": omitted > 0,
    })
}

/// The output's schema.
pub fn schema() -> Value {
    let text = json!({"type": "string"});
    let id = json!({"type": "integer", "minimum": 0});
    let layer = json!({"type": ["string", "null"]});
    let object = |properties: Value| {
        let required: Vec<String> =
            properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    };
    let list = |items: Value| json!({"type": "array", "items": items});
    let node = object(json!({
        "id": id, "name": text, "datasource": text, "database": text, "layer": layer,
        "distance": {"type": "integer"},
    }));
    let table = object(json!({
        "id": id, "name": text, "datasource": text, "database": text, "layer": layer, "comment": text,
    }));
    let edge = object(json!({"source": id, "target": id, "tasks": list(text)}));
    object(json!({
        "table": table,
        "upstream": list(node.clone()),
        "downstream": list(node),
        "edges": list(edge),
        "omitted": id,
    }))
}

#[cfg(test)]
pub mod testing {
    use super::*;

    pub fn head(id: u64, name: &str) -> TableHead {
        TableHead {
            id,
            datasource: "shop".to_owned(),
            database: "main".to_owned(),
            name: name.to_owned(),
            comment: String::new(),
            layer: None,
            business_domain: None,
            data_domain: None,
            row_count: None,
            physical: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::head;
    use super::*;
    use lakeport_sdk::serde_json;
    use lakeport_sdk::tool::lineage::Edge;

    #[test]
    fn both_sides_are_listed_nearest_first() {
        let node = |id, name, distance| Node { table: head(id, name), distance };
        let graph = Graph {
            nodes: vec![node(1, "orders", 0), node(2, "far", -2), node(3, "near", -1), node(4, "report", 1)],
            edges: vec![Edge { source: 3, target: 1, tasks: vec!["load".to_owned()] }],
            omitted_nodes: 1,
        };
        let outcome = outcome(&head(1, "orders"), &graph);
        let output: Value = serde_json::from_str(&outcome.output).unwrap();
        assert_eq!(output["upstream"][0]["name"], "near");
        assert_eq!(output["upstream"][1]["distance"], -2);
        assert_eq!(output["downstream"][0]["name"], "report");
        assert_eq!(output["omitted"], 1);
        assert!(outcome.truncated);
        let table: Value = serde_json::from_str(&outcome.artifacts[0].content).unwrap();
        assert_eq!(table["row_count"], 3);
    }

    #[test]
    fn a_table_without_neighbours_shows_no_table() {
        let graph = Graph { nodes: Vec::new(), edges: Vec::new(), omitted_nodes: 0 };
        assert!(outcome(&head(1, "orders"), &graph).artifacts.is_empty());
    }
}
