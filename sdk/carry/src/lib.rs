//! Converts a plugin's types to the host's, member by member: both are generated from the same contracts,
//! separately.
//!
//! With it a dialect's own tests check its plans and queries against `lakeport-sql`, without a component, a
//! server or a database.

use lakeport_bindings::dialect::{about, planner, schema, statements};
use lakeport_bindings::host::{data, types};
use lakeport_sdk::Cell;
use lakeport_sdk::dialect as sdk;

/// `Name { a, b }`: a record of members that are the same on both sides, and of lists that are converted.
macro_rules! record {
    ($from:expr => $to:path { $($same:ident),* ; $($carried:ident: $with:expr),* $(,)? }) => {{
        let from = $from;
        $to { $($same: from.$same,)* $($carried: $with(from.$carried),)* }
    }};
}

fn all<A, B>(carry: impl Fn(A) -> B) -> impl Fn(Vec<A>) -> Vec<B> {
    move |list| list.into_iter().map(&carry).collect()
}

fn maybe<A, B>(carry: impl Fn(A) -> B) -> impl Fn(Option<A>) -> Option<B> {
    move |one| one.map(&carry)
}

pub fn info(from: sdk::DialectInfo) -> about::DialectInfo {
    let statement = all(token);
    record!(from => about::DialectInfo {
        name, title, version, products, transport, default_port, options_schema, database_term,
        hidden_databases, reads_from, type_words, models, capabilities, extra;
        name_rules: all(|rule: sdk::NameRule| record!(rule => about::NameRule {
            applies_to, max_length, length_unit, pattern, keeps, case_insensitive;
        })),
        types: all(|one: sdk::TypeInfo| record!(one => about::TypeInfo { name, family, form; })),
        quoting: |quoting: sdk::Quoting| record!(quoting => about::Quoting {
            name_quote;
            texts: all(|rule: sdk::TextRule| record!(rule => about::TextRule { name, prefix, quotes, escape; })),
        }),
        vocabularies: all(|one: sdk::Vocabulary| record!(one => about::Vocabulary { operation, heads, words; })),
        session: |session: sdk::Session| record!(session => about::Session {
            driver_settings, read_only_strength;
            setup: all(all(token)),
            read_only: all(all(token)),
        }),
        cancel: |cancel: sdk::Cancel| record!(cancel => about::Cancel {
            how;
            session_id: all(fragment),
            statement: statement,
        }),
        sql: |help: sdk::SqlHelp| record!(help => about::SqlHelp {
            parsers, placeholders, row_limit, explain, denied_functions, hints;
        }),
    })
}

pub fn token(from: sdk::Token) -> statements::Token {
    use statements::Token;
    match from {
        sdk::Token::Keyword(text) => Token::Keyword(text),
        sdk::Token::Name(parts) => Token::Name(parts),
        sdk::Token::Text(text) => Token::Text(record!(text => statements::TextToken { value, rule; })),
        sdk::Token::Number(number) => Token::Number(number),
        sdk::Token::DataType(tokens) => Token::DataType(all(type_token)(tokens)),
        sdk::Token::Symbol(symbol) => Token::Symbol(symbol),
        sdk::Token::Expression(text) => Token::Expression(text),
        sdk::Token::HostValue(name) => Token::HostValue(name),
        sdk::Token::Other(other) => Token::Other(record!(other => statements::OtherToken { kind, value; })),
    }
}

fn type_token(from: sdk::TypeToken) -> statements::TypeToken {
    use statements::TypeToken;
    match from {
        sdk::TypeToken::Word(text) => TypeToken::Word(text),
        sdk::TypeToken::Number(number) => TypeToken::Number(number),
        sdk::TypeToken::Name(name) => TypeToken::Name(name),
        sdk::TypeToken::Text(text) => TypeToken::Text(text),
        sdk::TypeToken::Symbol(symbol) => TypeToken::Symbol(symbol),
    }
}

pub fn fragment(from: sdk::Fragment) -> statements::Fragment {
    use statements::Fragment;
    match from {
        sdk::Fragment::Sql(text) => Fragment::Sql(text),
        sdk::Fragment::Name(parts) => Fragment::Name(parts),
        sdk::Fragment::Value(value) => Fragment::Value(match value {
            Cell::Null => data::Cell::Null,
            Cell::Boolean(value) => data::Cell::Boolean(value),
            Cell::Integer(value) => data::Cell::Integer(value),
            Cell::Float(value) => data::Cell::Float(value),
            Cell::Text(value) => data::Cell::Text(value),
            Cell::Bytes(value) => data::Cell::Bytes(value),
        }),
    }
}

fn problem(from: lakeport_sdk::Problem) -> types::Problem {
    record!(from => types::Problem { member, code, message; })
}

pub fn plan(from: sdk::ChangePlan) -> planner::ChangePlan {
    record!(from => planner::ChangePlan {
        transactional;
        steps: all(|step: sdk::Step| record!(step => statements::Step {
            purpose, undo_complete, destroys, cost, locks;
            action: action,
            undo: all(action),
        })),
        new_names: all(table_name),
        notes: all(problem),
    })
}

fn action(from: sdk::Action) -> statements::Action {
    record!(from => statements::Action { ; statement: all(token), probe: maybe(probe) })
}

fn probe(from: sdk::Probe) -> statements::Probe {
    record!(from => statements::Probe {
        key_column, otherwise, when_empty, message_column, poll_ms;
        query: all(fragment),
        rules: all(|rule: sdk::ProbeRule| record!(rule => statements::ProbeRule { column, values, outcome; })),
        abort: all(token),
    })
}

pub fn table_name(from: sdk::TableName) -> schema::TableName {
    record!(from => schema::TableName { database, name; })
}

fn field(from: sdk::Field) -> schema::Field {
    record!(from => schema::Field {
        name, type_text, nullable, key, comment, generated, extra;
        defaults_to: |default: sdk::DefaultValue| match default {
            sdk::DefaultValue::Absent => schema::DefaultValue::Absent,
            sdk::DefaultValue::Null => schema::DefaultValue::Null,
            sdk::DefaultValue::Text(text) => schema::DefaultValue::Text(text),
            sdk::DefaultValue::Number(text) => schema::DefaultValue::Number(text),
            sdk::DefaultValue::Boolean(value) => schema::DefaultValue::Boolean(value),
            sdk::DefaultValue::Now(digits) => schema::DefaultValue::Now(digits),
            sdk::DefaultValue::Expression(text) => schema::DefaultValue::Expression(text),
        },
    })
}

pub fn table(from: sdk::Table) -> schema::Table {
    record!(from => schema::Table {
        kind, comment, keys, model, distribution, buckets, replicas, partition, companions, extra;
        name: table_name,
        fields: all(field),
    })
}

pub fn change(from: sdk::Change) -> planner::Change {
    use planner::Change;
    let rename = |from: sdk::RenameTable| record!(from => planner::RenameTable { new_name; current: table });
    let count = |from: sdk::SetCount| record!(from => planner::SetCount { count; current: table });
    match from {
        sdk::Change::CreateTable(one) => Change::CreateTable(table(one)),
        sdk::Change::RenameTable(one) => Change::RenameTable(rename(one)),
        sdk::Change::RestoreTable(one) => Change::RestoreTable(rename(one)),
        sdk::Change::DropTable(one) => {
            Change::DropTable(record!(one => planner::DropTable { at_once; current: table }))
        }
        sdk::Change::CommentTable(one) => {
            Change::CommentTable(record!(one => planner::CommentTable { comment; current: table }))
        }
        sdk::Change::AddField(one) => {
            Change::AddField(record!(one => planner::AddField { behind; current: table, field: field }))
        }
        sdk::Change::AlterField(one) => Change::AlterField(
            record!(one => planner::AlterField { ; current: table, before: field, after: field }),
        ),
        sdk::Change::DropField(one) => {
            Change::DropField(record!(one => planner::DropField { field; current: table }))
        }
        sdk::Change::SetBuckets(one) => Change::SetBuckets(count(one)),
        sdk::Change::SetReplicas(one) => Change::SetReplicas(count(one)),
        sdk::Change::Other(one) => {
            Change::Other(record!(one => planner::OtherChange { operation, input; current: maybe(table) }))
        }
    }
}
