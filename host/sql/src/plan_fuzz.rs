//! Attacks the plan writer with hostile names, texts and expressions, and with plans that are not what a dialect
//! would make. What is accepted reads, in every lexing of its servers, as the tokens of the plan and nothing else.

use lakeport_bindings::dialect::planner::{AddField, AlterField, DropField, DropTable, RenameTable};
use lakeport_bindings::dialect::schema::{DefaultValue, Table};
use lakeport_bindings::dialect::statements::{OtherToken, TextToken, Token, TypeToken};
use lakeport_fuzz::{Choices, fuzz};
use serde_json::{Value, json};

use super::*;
use crate::lex::{Kind, lex};
use crate::testing::{field, info, strings, table, text_rule};

/// The rules that a refusal may name; see [`Refusal::rule`].
const RULES: [&str; 16] = [
    "head",
    "words",
    "names",
    "new_names",
    "text_rule",
    "data_type",
    "expression",
    "host_value",
    "unknown_token",
    "shape",
    "reread",
    "limits",
    "rebuild",
    "probe",
    "transaction",
    "session",
];
const PROFILES: [&str; 4] = ["sqlite", "postgres", "mysql", "http"];
const CHANGES: [&str; 6] =
    ["add_field", "alter_field", "drop_field", "create_table", "rename_table", "drop_table"];
/// Pieces of names, comments and defaults that try to leave their quotes.
const HOSTILE: &[&str] = &[
    "a",
    "orders",
    "id",
    "'",
    "''",
    "\"",
    "\"\"",
    "`",
    "``",
    "[",
    "]",
    "\\",
    "\\\\",
    "\\'",
    ";",
    "--",
    "-- ",
    "/*",
    "*/",
    "/*!",
    "#",
    "$",
    "$$",
    "$a$",
    "?",
    "@",
    ":",
    "(",
    ")",
    ",",
    ".",
    "\n",
    "\r",
    "\t",
    "\0",
    "\u{1}",
    "é",
    "😀",
    "\u{feff}",
    "DROP TABLE users",
    "SELECT",
    "NULL",
    " OR 1=1",
    "load_extension('x')",
    "pg_sleep(9)",
    "1 + 1",
    "now()",
    "U&\"",
    "E'",
    "%",
];
/// Keywords of plans, some of them never permitted.
const KEYWORDS: &[&str] = &[
    "ALTER TABLE",
    "CREATE TABLE",
    "DROP TABLE",
    "INSERT INTO",
    "RENAME TO",
    "ADD COLUMN",
    "DROP COLUMN",
    "COLUMN",
    "NOT NULL",
    "DEFAULT",
    "PRIMARY KEY",
    "SELECT",
    "FROM",
    "CAST",
    "AS",
    "GRANT",
    "ATTACH",
    "CASCADE",
    "WHERE",
    "; DROP TABLE users",
    "not null",
    "ADD  COLUMN",
    "",
    "DROP",
    "4BYTEINT",
    "SET--",
];
const SYMBOLS: &[&str] = &["(", ")", ",", "=", ".", "*", ";", "--", "<", ">", ":", "' OR '"];

#[test]
fn fuzz_plan() {
    fuzz!("plan", 1_500, make, check);
}

/// A plan as JSON: the dialect, the change, the texts in it, and the tokens of its steps.
fn make(choices: &mut Choices<'_>, kept: &[Vec<u8>]) -> Vec<u8> {
    let mut input: Value = serde_json::from_slice(&kept[choices.below(kept.len())]).unwrap_or_default();
    if choices.one_in(2) {
        let change = choices.pick(&CHANGES);
        input["change"] = json!(change);
        input["steps"] = json!([template(change)]);
    }
    input["profile"] = json!(choices.pick(&PROFILES));
    input["transactional"] = json!(!choices.one_in(4));
    for text in ["table", "field", "new", "text", "expression"] {
        if choices.one_in(2) {
            input[text] = json!(choices.words(HOSTILE));
        }
    }
    if let Some(steps) = input["steps"].as_array_mut() {
        for statement in steps.iter_mut().flat_map(|step| step.as_array_mut()).flatten() {
            while choices.one_in(3) {
                edit(choices, statement);
            }
        }
    }
    input.to_string().into_bytes()
}

/// The statement of a change, and its undo.
fn template(change: &str) -> Value {
    let table = json!(["name", "main", "{table}"]);
    let add = json!([
        ["kw", "ALTER TABLE"],
        table,
        ["kw", "ADD COLUMN"],
        ["name", "{field}"],
        ["type", "INTEGER"],
        ["kw", "DEFAULT"],
        ["text", "{text}"]
    ]);
    let drop = json!([["kw", "ALTER TABLE"], table, ["kw", "DROP COLUMN"], ["name", "{field}"]]);
    let create = json!([
        ["kw", "CREATE TABLE"],
        table,
        ["symbol", "("],
        ["name", "id"],
        ["type", "INTEGER"],
        ["kw", "DEFAULT"],
        ["symbol", "("],
        ["expression", "{expression}"],
        ["symbol", ")"],
        ["symbol", ","],
        ["name", "{field}"],
        ["type", "TEXT"],
        ["kw", "DEFAULT"],
        ["text", "{text}"],
        ["symbol", ")"]
    ]);
    let rename = |from: &str, to: &str| {
        json!([["kw", "ALTER TABLE"], ["name", "main", from], ["kw", "RENAME TO"], ["name", to]])
    };
    let rename_field = json!([
        ["kw", "ALTER TABLE"],
        table,
        ["kw", "RENAME COLUMN"],
        ["name", "{field}"],
        ["kw", "TO"],
        ["name", "{new}"]
    ]);
    match change {
        "add_field" => json!([add, drop]),
        "drop_field" => json!([drop]),
        "create_table" => json!([create, [["kw", "DROP TABLE"], table]]),
        "rename_table" => json!([rename("{table}", "{new}"), rename("{new}", "{table}")]),
        "drop_table" => json!([[["kw", "DROP TABLE"], table]]),
        _ => json!([rename_field]),
    }
}

/// Inserts, removes, repeats or replaces a token.
fn edit(choices: &mut Choices<'_>, statement: &mut Value) {
    let Some(tokens) = statement.as_array_mut() else { return };
    let at = choices.below(tokens.len() + 1);
    let token = match choices.below(9) {
        0 | 1 => json!(["kw", choices.pick(KEYWORDS)]),
        2 => json!(["symbol", choices.pick(SYMBOLS)]),
        3 => json!([
            "name",
            choices.pick(&["main", "{table}", "{field}", "id", "users"]),
            choices.pick(&["{table}", "id"])
        ]),
        4 => json!(["name", choices.words(HOSTILE)]),
        5 => json!(["text", choices.words(HOSTILE)]),
        6 => json!(["expression", choices.pick(&["{expression}", "1 + 1", "1; DROP TABLE x"])]),
        7 => json!(["number", choices.pick(&["1", "-1.5e3", "1;", "0x1", "--1", "1 OR 1"])]),
        _ => json!([
            choices.pick(&["type", "other", "host"]),
            choices.pick(&["TEXT", "INTEGER", "TABLE", "session-id"])
        ]),
    };
    match choices.below(3) {
        0 => tokens.insert(at, token),
        1 if at < tokens.len() => tokens[at] = token,
        _ if at < tokens.len() => drop(tokens.remove(at)),
        _ => {}
    }
}

/// An input as the writer gets it.
struct Attack {
    profile: Profile,
    change: Change,
    plan: ChangePlan,
    /// All names that a statement may hold.
    names: Vec<String>,
}

impl Attack {
    fn read(input: &Value) -> Option<Attack> {
        let text = |name: &str, otherwise: &str| input[name].as_str().unwrap_or(otherwise).to_owned();
        let (table_name, field_name, new) =
            (text("table", "orders"), text("field", "note"), text("new", "bills"));
        let mut current = table(&table_name, &["id"]);
        current.fields[0].defaults_to = DefaultValue::Expression(text("expression", "1 + 1"));
        let mut own = field(&field_name);
        own.comment = text("text", "");
        let with = |current: &Table| Table {
            fields: [&current.fields[..], &[own.clone()]].concat(),
            ..current.clone()
        };
        let change = match input["change"].as_str()? {
            "add_field" => Change::AddField(AddField { current, field: own, behind: None }),
            "drop_field" => {
                Change::DropField(DropField { current: with(&current), field: field_name.clone() })
            }
            "create_table" => Change::CreateTable(with(&current)),
            "rename_table" => Change::RenameTable(RenameTable { current, new_name: new.clone() }),
            "drop_table" => Change::DropTable(DropTable { current, at_once: true }),
            _ => {
                let after = lakeport_bindings::dialect::schema::Field { name: new.clone(), ..own.clone() };
                Change::AlterField(AlterField { current: with(&current), before: own, after })
            }
        };
        let filled = |text: &str| {
            let slots = [
                ("{table}", "table", "orders"),
                ("{field}", "field", "note"),
                ("{new}", "new", "bills"),
                ("{text}", "text", ""),
                ("{expression}", "expression", "1 + 1"),
            ];
            slots.iter().find(|(slot, ..)| *slot == text).map_or_else(
                || text.to_owned(),
                |(_, name, otherwise)| input[name].as_str().unwrap_or(otherwise).to_owned(),
            )
        };
        let mut steps = Vec::new();
        for step in input["steps"].as_array()? {
            let mut statements = step.as_array()?.iter().map(|statement| {
                let tokens = statement.as_array()?.iter().map(|token| read_token(token, &filled));
                Some(Action { statement: tokens.collect::<Option<_>>()?, probe: None })
            });
            let action = statements.next()??;
            let undo = statements.collect::<Option<_>>()?;
            let (purpose, cost, locks) = ("does it".to_owned(), "metadata".to_owned(), "brief".to_owned());
            steps.push(Step { purpose, action, undo, undo_complete: true, destroys: false, cost, locks });
        }
        let announced = input["new_names"].as_array().cloned().unwrap_or_default();
        let announced: Vec<String> = announced.iter().filter_map(Value::as_str).map(&filled).collect();
        let named = |name: &String| TableName { database: "main".to_owned(), name: name.clone() };
        let new_names = announced.iter().map(named).collect();
        let transactional = input["transactional"].as_bool().unwrap_or(true);
        let plan = ChangePlan { steps, transactional, new_names, notes: Vec::new() };
        let mut names = vec!["main".to_owned(), "id".to_owned(), table_name, field_name, new];
        names.extend(announced);
        Some(Attack { profile: profile(input["profile"].as_str()?), change, plan, names })
    }
}

fn read_token(token: &Value, filled: &impl Fn(&str) -> String) -> Option<Token> {
    let parts: Vec<String> =
        token.as_array()?.iter().map(|part| part.as_str().map(filled)).collect::<Option<_>>()?;
    let (kind, values) = parts.split_first()?;
    let value = values.first()?.clone();
    Some(match kind.as_str() {
        "kw" => Token::Keyword(value),
        "name" => Token::Name(values.to_vec()),
        "text" => Token::Text(TextToken { value, rule: "literal".to_owned() }),
        "number" => Token::Number(value),
        "type" => Token::DataType(vec![TypeToken::Word(value)]),
        "symbol" => Token::Symbol(value),
        "expression" => Token::Expression(value),
        "host" => Token::HostValue(value),
        _ => Token::Other(OtherToken { kind: "raw".to_owned(), value }),
    })
}

fn profile(name: &str) -> Profile {
    let mut info = info();
    match name {
        "postgres" => {
            info.transport = "postgres".to_owned();
            info.sql.parsers = strings(&["postgres"]);
            info.sql.placeholders = "dollar".to_owned();
        }
        "mysql" | "http" => {
            info.transport = name.to_owned();
            info.sql.parsers = strings(&["mysql"]);
            info.quoting.name_quote = "`".to_owned();
            info.quoting.texts = vec![text_rule("literal", "double_and_backslash")];
            if name == "http" {
                info.sql.placeholders = "none".to_owned();
            }
        }
        _ => {}
    }
    Profile::new(&info).expect("a sound description")
}

fn check(input: &[u8]) {
    let Ok(input) = serde_json::from_slice(input) else { return };
    let Some(attack) = Attack::read(&input) else { return };
    let checked = match check_plan(&attack.profile, &attack.change, &attack.plan) {
        Ok(checked) => checked,
        Err(PlanRefused::Text(problem)) => return assert_eq!(problem.code, "not_representable"),
        Err(PlanRefused::Plugin(refusal)) => return assert!(RULES.contains(&refusal.rule), "{refusal}"),
    };
    assert_eq!(checked.steps.len(), attack.plan.steps.len());
    for (checked_step, step) in checked.steps.iter().zip(&attack.plan.steps) {
        attack.is_as_meant(&checked.operation, &checked_step.action, &step.action);
        assert_eq!(checked_step.undo.len(), step.undo.len());
        for (checked_undo, undo) in checked_step.undo.iter().zip(&step.undo) {
            attack.is_as_meant(bounds::reverse(&checked.operation), checked_undo, undo);
        }
    }
}

impl Attack {
    fn is_as_meant(&self, operation: &str, checked: &CheckedAction, action: &Action) {
        let sql = checked.sql.as_str();
        let words = &self.profile.operations[operation];
        let has_expression = action.statement.iter().any(|token| matches!(token, Token::Expression(_)));
        let names: Vec<&String> = action
            .statement
            .iter()
            .filter_map(|token| match token {
                Token::Name(parts) => Some(parts),
                _ => None,
            })
            .flatten()
            .collect();
        for name in &names {
            assert!(self.names.contains(name), "{name:?} is no name of the change: {sql}");
        }
        let texts: Vec<&String> = action
            .statement
            .iter()
            .filter_map(|token| match token {
                Token::Text(text) => Some(&text.value),
                _ => None,
            })
            .collect();
        let readings = self.profile.readings();
        for reading in &readings {
            let lexemes = lex(sql, *reading).expect("a written statement reads");
            let leading = lexemes.iter().take_while(|lexeme| lexeme.kind == Kind::Word);
            let leading: Vec<String> =
                leading.map(|lexeme| sql[lexeme.span.clone()].to_ascii_uppercase()).collect();
            assert!(words.heads.iter().any(|head| bounds::begins_with(&leading.join(" "), head)), "{sql}");
            let (mut read_names, mut read_texts) = (Vec::new(), Vec::new());
            for lexeme in &lexemes {
                let written = &sql[lexeme.span.clone()];
                match &lexeme.kind {
                    Kind::Comment { .. } | Kind::Symbol(';' | '?' | '$') => panic!("{written} in {sql}"),
                    Kind::Name(name) => read_names.push(name),
                    Kind::Text(text) => read_texts.push(text),
                    Kind::Word if !has_expression => {
                        let word = written.to_ascii_uppercase();
                        let is_known = words.words.contains(&word) || self.profile.type_words.contains(&word);
                        assert!(is_known, "{word} in {sql}");
                    }
                    _ => {}
                }
            }
            if has_expression {
                assert!(read_names.len() >= names.len() && read_texts.len() >= texts.len(), "{sql}");
                continue;
            }
            assert_eq!(read_names, names, "{sql}");
            assert_eq!(read_texts.len(), texts.len(), "{sql}");
            assert!(readings.len() > 1 || read_texts == texts, "{texts:?} in {sql}");
        }
    }
}
