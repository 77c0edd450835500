//! The lineage graph over HTTP (contract, section 3.5).

use std::collections::BTreeSet;

use lakeport_tests::{Lake, id_of, stores};
use serde_json::{Value, json};

const LINEAGE: &str = "/api/v1/lineage";

/// `a → b → c → d`, `a → c`, and `apart`: the ids by name.
struct Graph {
    lake: Lake,
    ids: [i64; 5],
    tasks: Vec<i64>,
}

impl Graph {
    fn build(store: &lakeport_tests::Store) -> Graph {
        let lake = Lake::start(store);
        let source = lake.source("shop.db");
        let layers = ["ODS", "DWD", "DWS", "ADS", "ODS"];
        let names = ["a", "b", "c", "d", "apart"];
        let ids: [i64; 5] = std::array::from_fn(|n| {
            let form = json!({ "tableName": names[n], "dbName": "main", "layer": layers[n], "clusterId": source,
                "businessDomain": "sales", "tableComment": format!("the table {}", names[n]) });
            id_of(&lake.server.post("/api/v1/tables", &form).data())
        });
        let [a, b, c, d, _] = ids;
        let workflow = lake.workflow("w");
        let bindings: [(&[i64], &[i64]); 4] = [(&[a], &[b]), (&[b, c], &[c]), (&[c], &[d]), (&[a], &[c])];
        let tasks = bindings.iter().enumerate().map(|(n, (inputs, outputs))| {
            lake.task(workflow, &format!("t{n}"), source, "SELECT 1", [inputs, outputs])
        });
        let tasks = tasks.collect();
        Graph { lake, ids, tasks }
    }

    fn ask(&self, query: &str) -> Value {
        self.lake.server.get(&format!("{LINEAGE}?{query}")).data()
    }

    fn name(&self, id: &Value) -> &'static str {
        let id: i64 = id.as_str().expect("a text").parse().expect("a number");
        let place = self.ids.iter().position(|known| *known == id).expect("a known table");
        ["a", "b", "c", "d", "apart"][place]
    }

    fn nodes(&self, graph: &Value) -> BTreeSet<&'static str> {
        graph["nodes"].as_array().expect("nodes").iter().map(|node| self.name(&node["id"])).collect()
    }

    fn distances(&self, graph: &Value) -> Vec<(&'static str, i64)> {
        let nodes = graph["nodes"].as_array().expect("nodes").iter();
        let mut all: Vec<_> = nodes
            .map(|node| (self.name(&node["id"]), node["distance"].as_i64().expect("a distance")))
            .collect();
        all.sort_unstable();
        all
    }

    fn edges(&self, graph: &Value) -> BTreeSet<(&'static str, &'static str)> {
        let edges = graph["edges"].as_array().expect("edges").iter();
        edges.map(|edge| (self.name(&edge["source"]), self.name(&edge["target"]))).collect()
    }
}

#[test]
fn the_graph_follows_the_task_bindings() {
    for store in stores() {
        let graph = Graph::build(&store);
        let [a, _, c, ..] = graph.ids;
        let all = graph.ask("");
        assert_eq!(graph.nodes(&all), BTreeSet::from(["a", "b", "c", "d", "apart"]));
        assert_eq!(graph.edges(&all), BTreeSet::from([("a", "b"), ("b", "c"), ("c", "d"), ("a", "c")]));
        assert_eq!((&all["truncated"], &all["nodes"][0]["distance"]), (&json!(false), &Value::Null));
        assert_eq!(all["omitted"], json!({ "nodes": 0, "edges": 0 }));

        let around = graph.ask(&format!("tableId={c}"));
        assert_eq!(graph.distances(&around), [("a", -1), ("b", -1), ("c", 0), ("d", 1)]);
        let node = around["nodes"].as_array().expect("nodes").iter().find(|node| node["distance"] == 0);
        let node = node.expect("the anchor");
        for (member, value) in [
            ("tableName", json!("c")),
            ("layer", json!("DWS")),
            ("dbName", json!("main")),
            ("tableComment", json!("the table c")),
            ("businessDomain", json!("sales")),
            ("dataDomain", Value::Null),
        ] {
            assert_eq!(node.get(member), Some(&value), "{member} of {node}");
        }
        let edge = around["edges"]
            .as_array()
            .expect("edges")
            .iter()
            .find(|edge| edge["target"] != json!(c.to_string()));
        assert!(edge.is_some_and(|edge| edge["taskIds"].is_array()), "{around}");
        assert_eq!(
            graph.nodes(&graph.ask(&format!("tableId={c}&direction=downstream"))),
            BTreeSet::from(["c", "d"])
        );
        assert_eq!(graph.nodes(&graph.ask(&format!("tableId={a}&depth=1"))), BTreeSet::from(["a", "b", "c"]));
        let alone = graph.ask(&format!("tableId={a}&depth=0"));
        assert_eq!((graph.nodes(&alone), &alone["edges"]), (BTreeSet::from(["a"]), &json!([])));
        assert_eq!(graph.lake.server.get(&format!("{LINEAGE}?tableId=999")).status, 404);
        assert_eq!(graph.lake.server.get(&format!("{LINEAGE}?tableId={a}&depth=-1")).status, 400);
    }
}

#[test]
fn filters_hide_nodes_but_walk_through() {
    for store in stores() {
        let graph = Graph::build(&store);
        let [a, ..] = graph.ids;
        let last = graph.ask(&format!("tableId={a}&layer=ADS"));
        assert_eq!(graph.nodes(&last), BTreeSet::from(["a", "d"]), "the anchor is always sent");
        assert_eq!(last["edges"], json!([]), "edges are sent between what is sent");
        assert_eq!(graph.nodes(&graph.ask("layer=ODS")), BTreeSet::from(["a", "apart"]));
        assert_eq!(graph.nodes(&graph.ask("keyword=PAR")), BTreeSet::from(["apart"]));
        assert_eq!(graph.nodes(&graph.ask("dbName=nowhere")), BTreeSet::new());
        assert_eq!(graph.nodes(&graph.ask("businessDomain=sales&clusterId=2")).len(), 5);
        let few = graph.ask(&format!("tableId={a}&maxNodes=2"));
        assert_eq!((&few["truncated"], few["nodes"].as_array().map(Vec::len)), (&json!(true), Some(2)));
        assert_eq!(few["omitted"]["nodes"], 2, "{few}");
    }
}

#[test]
fn the_graph_is_current_and_survives_restart() {
    for store in stores() {
        let mut graph = Graph::build(&store);
        let [_, _, c, ..] = graph.ids;
        let last = graph.tasks[2];
        graph.lake.server.put(&format!("/api/v1/tasks/{last}"), &json!({ "inputTableIds": [] })).data();
        assert_eq!(graph.nodes(&graph.ask(&format!("tableId={c}"))), BTreeSet::from(["a", "b", "c"]));
        graph.lake.server.delete(&format!("/api/v1/tasks/{}", graph.tasks[1]));
        assert_eq!(graph.nodes(&graph.ask(&format!("tableId={c}"))), BTreeSet::from(["a", "c"]));
        graph.lake.server.restart();
        assert_eq!(graph.nodes(&graph.ask(&format!("tableId={c}"))), BTreeSet::from(["a", "c"]));
    }
}

#[test]
fn edges_and_nodes_are_bounded() {
    for store in stores() {
        let graph = Graph::build(&store);
        let [a, _, _, d, _] = graph.ids;
        let (from, to) = (a.to_string(), d.to_string());
        let comment = json!({ "tableComment": "字".repeat(2_000) });
        graph.lake.server.put(&format!("/api/v1/tables/{d}"), &comment).data();
        let workflow = graph.lake.workflow("many");
        for n in 0..103 {
            graph.lake.task(workflow, &format!("t{n}"), 2, "SELECT 1", [&[a], &[d]]);
        }
        let all = graph.ask("");
        let members = |list: &str| all[list].as_array().expect("a list").clone();
        let node = members("nodes").into_iter().find(|node| node["id"] == to);
        let cut = format!("{}…", "字".repeat(500));
        assert_eq!(node.expect("the node")["tableComment"], cut);
        let edge = members("edges").into_iter().find(|edge| edge["source"] == from && edge["target"] == to);
        let edge = edge.expect("the edge");
        let shown = (edge["taskIds"].as_array().map(Vec::len), &edge["taskCount"]);
        assert_eq!(shown, (Some(100), &json!(103)));
    }
}

#[test]
fn a_bound_token_sees_no_other_tables() {
    for store in stores() {
        let graph = Graph::build(&store);
        let lake = &graph.lake;
        let other = lake.source("secret.db");
        let form = json!({ "tableName": "hidden", "dbName": "main", "clusterId": other });
        lake.server.post("/api/v1/tables", &form).data();
        lake.server.token("admin", "ann");
        let bound = ["token", "create", "--role", "viewer", "--name", "bob", "--datasources", "shop.db"];
        let token = lake.server.command_ok(&bound).trim().to_owned();
        let answer = lake.server.client_as(&token).get(LINEAGE).data();
        assert!(!answer.to_string().contains("hidden"), "{answer}");
        assert_eq!(
            (answer["nodes"].as_array().map(Vec::len), &answer["omitted"]["nodes"]),
            (Some(5), &json!(1))
        );
    }
}
