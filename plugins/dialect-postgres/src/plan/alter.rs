//! Changes the definition of a field: each part is a statement of its own, with its undo.
//!
//! A type changes only if every possible value stays the same.

use lakeport_sdk::dialect::{
    Action, AlterField, ChangePlan, DefaultValue, Field, Problem, ServerInfo, Statement, Step, TableName,
};

use super::in_one;
use super::mentions::generated_from;
use super::problems::{Checks, Problems, note};
use super::shape::{self, is_writable};
use crate::defaults;
use crate::facts::{FieldFacts, TableFacts, listed};
use crate::types::{self, Change, Type};

/// Plans it.
pub fn plan(server: &ServerInfo, change: &AlterField) -> Result<ChangePlan, Vec<Problem>> {
    let (before, after) = (&change.before, &change.after);
    let mut problems = Problems::default();
    let renames = before.name != after.name;
    let retyped = is_retyped(before, after);
    let of_table = if renames || retyped || before.nullable != after.nullable {
        problems.fields_changeable(&change.current)
    } else {
        problems.changeable(&change.current)
    };
    let facts = FieldFacts::of(before);
    if renames {
        renamable(change, &facts, &of_table, &mut problems);
    }
    if before.key != after.key {
        problems.unsupported("isPrimaryKey", "the key of a table that is there stays as it is");
    }
    if before.nullable != after.nullable {
        nullability(change, &facts, &of_table, &mut problems);
    }
    let types = if retyped { retype(server, change, &facts, &of_table, &mut problems) } else { None };
    let new_default = !defaults::same(&before.defaults_to, &after.defaults_to);
    if new_default {
        default_of_others(change, &facts, &of_table, "defaultValue", &mut problems);
    } else if types.is_some() && is_set_again(before) {
        default_of_others(change, &facts, &of_table, "fieldType", &mut problems);
    }
    if new_default || types.is_some() {
        default(change, &facts, new_default, types.as_ref(), &mut problems);
    }
    problems.check()?;
    let notes = notes(change, types.as_ref());
    Ok(in_one(
        Steps { change, table: &change.current.name, steps: Vec::new() }.all(types.as_ref(), new_default),
        notes,
    ))
}

/// The types of a field before and after, and the effect on its values.
struct Types {
    before: Type,
    after: Type,
    rewrites: bool,
}

fn is_retyped(before: &Field, after: &Field) -> bool {
    let canonical = |field: &Field| types::parse(&field.type_text).map(|parsed| parsed.canonical()).ok();
    before.type_text != after.type_text
        && !(canonical(before).is_some() && canonical(before) == canonical(after))
}

fn renamable(change: &AlterField, facts: &FieldFacts, of_table: &TableFacts, problems: &mut Problems) {
    let (before, after) = (&change.before, &change.after);
    problems.field_name(&after.name, "fieldName");
    if change.current.fields.iter().any(|field| field.name == after.name) {
        problems.conflict("fieldName", format!("there is a field {:?} already", after.name));
    }
    if facts.inherited {
        let parents = listed(&of_table.inherits);
        problems.unsupported("fieldName", format!("{} is inherited from {parents}", before.name));
    }
}

fn nullability(change: &AlterField, facts: &FieldFacts, of_table: &TableFacts, problems: &mut Problems) {
    let name = &change.before.name;
    let mut refuse = |message: String| problems.unsupported("isNullable", message);
    if facts.inherited {
        refuse(format!("{name} is inherited from {}", listed(&of_table.inherits)));
    }
    if change.after.nullable && (change.before.key || change.current.keys.contains(name)) {
        refuse(format!("{name} belongs to the key, which takes no NULL"));
    }
    if change.after.nullable && facts.identity.is_some() {
        refuse(format!("{name} counts by itself and takes no NULL"));
    }
}

/// Problems of the new type, except its default's.
fn retype(
    server: &ServerInfo,
    change: &AlterField,
    facts: &FieldFacts,
    of_table: &TableFacts,
    problems: &mut Problems,
) -> Option<Types> {
    let (before, after) = (&change.before, &change.after);
    let name = &before.name;
    let member = "fieldType";
    let wanted = shape::wanted_type(server, &after.type_text, member, problems)?;
    let mut refuse = |message: String| problems.unsupported(member, message);
    if before.key || change.current.keys.contains(name) {
        refuse(format!("{name} belongs to the key, whose types stay as they are"));
    }
    if change.current.partition.contains(name) || of_table.by_expression {
        refuse(format!("the table is partitioned by {name}, or by an expression in which it may be"));
    }
    if facts.inherited {
        refuse(format!("{name} is inherited from {}", listed(&of_table.inherits)));
    }
    if before.generated.is_some() {
        refuse(format!("{name} is generated"));
    }
    if let Some(collation) = &facts.collation {
        refuse(format!("{name} has the collation {collation}, which PostgreSQL would forget without a word"));
    }
    if !facts.storage.is_empty() {
        let storage = listed(&facts.storage);
        refuse(format!(
            "{name} has settings of its own ({storage}), which PostgreSQL would forget without a word"
        ));
    }
    if facts.identity.is_some() && wanted.family() != "integer" {
        refuse(format!("{name} counts by itself and must be a whole number"));
    }
    let generated = generated_from(&change.current, name);
    if !generated.is_empty() {
        problems.conflict(member, format!("{} are generated from {name}", generated.join(", ")));
    }
    if !facts.users.is_empty() {
        let users = listed(&facts.users);
        problems.conflict(member, format!("{users} use {name}; they would have to go first"));
    }
    let old = match types::parse(&before.type_text) {
        Ok(old) => old,
        Err(_) => {
            let kind = facts.type_kind.as_deref().unwrap_or("type");
            let message =
                format!("{} is a {kind} whose values cannot be told to stay the same", before.type_text);
            problems.unsupported(member, message);
            return None;
        }
    };
    let rewrites = match types::change(&old, &wanted) {
        Change::None | Change::InPlace => false,
        Change::Rewrite => true,
        Change::Lossy => {
            let message = format!(
                "from {} to {} values could come out otherwise, or not at all; add another field instead",
                old.canonical(),
                wanted.canonical()
            );
            problems.unsupported(member, message);
            return None;
        }
    };
    Some(Types { before: old, after: wanted, rewrites })
}

/// Only PostgreSQL can convert the old default to the new type; so a constant is set again.
fn is_set_again(before: &Field) -> bool {
    defaults::gives_a_value(&before.defaults_to) && !matches!(before.defaults_to, DefaultValue::Expression(_))
}

/// A default on the table overwrites the partitions' own ones for the field, which the undo cannot restore.
fn default_of_others(
    change: &AlterField,
    facts: &FieldFacts,
    of_table: &TableFacts,
    member: &str,
    problems: &mut Problems,
) {
    let name = &change.before.name;
    if !of_table.children.is_empty() {
        let children = listed(&of_table.children);
        let message = format!("{children} inherit {name}, and their defaults would be overwritten");
        problems.unsupported(member, message);
    }
    if facts.defaults_differ {
        let message = format!("a partition has another default for {name}, which would be overwritten");
        problems.unsupported(member, message);
    }
}

fn default(
    change: &AlterField,
    facts: &FieldFacts,
    is_new: bool,
    types: Option<&Types>,
    problems: &mut Problems,
) {
    let (before, after) = (&change.before, &change.after);
    let member = "defaultValue";
    if is_new && (facts.identity.is_some() || before.generated.is_some()) {
        problems.unsupported(member, format!("{} has its values from elsewhere and no default", before.name));
        return;
    }
    if !is_new && facts.identity.is_some() {
        return;
    }
    if is_new && matches!(after.defaults_to, DefaultValue::Expression(_)) {
        problems.unsupported(member, "a default is a text, a number, a truth value, a time or NULL");
        return;
    }
    let of = match types {
        Some(types) => types.after.clone(),
        None => match types::parse(&after.type_text) {
            Ok(of) => of,
            Err(_) if !defaults::gives_a_value(&after.defaults_to) => return,
            Err(_) => {
                let message = format!("a default of {} cannot be given from here", after.type_text);
                problems.unsupported(member, message);
                return;
            }
        },
    };
    if let Err(message) = defaults::fits(&after.defaults_to, &of) {
        let message = if is_new {
            message
        } else {
            format!("the default has to change along with the type: {message}")
        };
        problems.add(member, "not_representable", message);
    }
}

fn notes(change: &AlterField, types: Option<&Types>) -> Vec<Problem> {
    let (before, after) = (&change.before, &change.after);
    let counts =
        matches!(&before.defaults_to, DefaultValue::Expression(text) if text.starts_with("nextval("));
    let of_sequence = (types.is_some() && counts)
        .then(|| note("the sequence that the field counts with keeps its own type and its own end"));
    let rewritten = (before.name != after.name).then(|| generated_from(&change.current, &before.name));
    let of_generated = rewritten.into_iter().flatten().map(|name| {
        let index = change.current.fields.iter().position(|field| field.name == name).unwrap_or_default();
        let message = format!("the expression of {name} takes the new name along");
        Problem::new(format!("fields[{index}].generated"), "adjusted", message)
    });
    of_sequence.into_iter().chain(of_generated).collect()
}

/// The statements, in order.
struct Steps<'a> {
    change: &'a AlterField,
    table: &'a TableName,
    steps: Vec<Step>,
}

impl Steps<'_> {
    fn all(mut self, types: Option<&Types>, new_default: bool) -> Vec<Step> {
        let (before, after) = (&self.change.before, &self.change.after);
        let resets = types.is_some() && is_set_again(before);
        let clears =
            defaults::gives_a_value(&before.defaults_to) && (new_default && types.is_some() || resets);
        if clears {
            self.set_default(&before.defaults_to, &DefaultValue::Absent);
        }
        if let Some(types) = types {
            self.set_type(types);
        }
        let old = if clears { &DefaultValue::Absent } else { &before.defaults_to };
        if !defaults::same(old, &after.defaults_to) {
            self.set_default(old, &after.defaults_to);
        }
        if before.nullable != after.nullable {
            self.set_nullable(after.nullable);
        }
        if before.name != after.name {
            self.rename();
        }
        if before.comment != after.comment {
            self.comment();
        }
        self.steps
    }

    fn push(&mut self, purpose: String, statement: Statement, undo: Option<Statement>) -> &mut Step {
        let undo: Vec<Action> = undo.into_iter().map(Action::new).collect();
        self.steps.push(Step { undo_complete: !undo.is_empty(), undo, ..Step::new(purpose, statement) });
        let last = self.steps.len() - 1;
        &mut self.steps[last]
    }

    fn set_type(&mut self, types: &Types) {
        let name = &self.change.before.name;
        let to = |from: &Type, to: &Type| {
            let statement = shape::alter_column(self.table, name).words("TYPE").data_type(to.tokens());
            if types::needs_cast(from, to) {
                let cast = statement.words("USING CAST").symbol("(").name([name]);
                cast.words("AS").data_type(to.tokens()).symbol(")")
            } else {
                statement
            }
        };
        let purpose = format!("gives the field {name} the type {}", types.after.canonical());
        let (statement, undo) = (to(&types.before, &types.after), to(&types.after, &types.before));
        let rewrites = types.rewrites;
        let step = self.push(purpose, statement, Some(undo));
        if rewrites {
            step.cost = "rewrite".to_owned();
            step.locks = "all".to_owned();
        }
    }

    fn set_default(&mut self, from: &DefaultValue, to: &DefaultValue) {
        let (before, after) = (&self.change.before, &self.change.after);
        let set = |default: &DefaultValue, type_text: &str| {
            let statement = shape::alter_column(self.table, &before.name);
            if defaults::gives_a_value(default) {
                defaults::write(statement.words("SET"), default, type_text)
            } else {
                statement.words("DROP DEFAULT")
            }
        };
        let purpose = match to {
            DefaultValue::Absent | DefaultValue::Null => {
                format!("takes the default of the field {}", before.name)
            }
            _ => format!("sets the default of the field {}", before.name),
        };
        let undo = is_writable(from).then(|| set(from, &before.type_text));
        self.push(purpose, set(to, &after.type_text), undo);
    }

    fn set_nullable(&mut self, nullable: bool) {
        let name = &self.change.before.name;
        let statement = |nullable: bool| {
            let words = if nullable { "DROP NOT NULL" } else { "SET NOT NULL" };
            shape::alter_column(self.table, name).words(words)
        };
        let purpose = if nullable {
            format!("lets the field {name} have NULL")
        } else {
            format!("keeps NULL out of the field {name}, unless there are some")
        };
        let step = self.push(purpose, statement(nullable), Some(statement(!nullable)));
        if !nullable {
            step.cost = "in_place".to_owned();
            step.locks = "all".to_owned();
        }
    }

    fn rename(&mut self) {
        let (before, after) = (&self.change.before.name, &self.change.after.name);
        self.push(
            format!("renames the field {before} of {} to {after}", self.table.name),
            shape::rename_column(self.table, before, after),
            Some(shape::rename_column(self.table, after, before)),
        );
    }

    fn comment(&mut self) {
        let (before, after) = (&self.change.before, &self.change.after);
        let statement = |comment: &str| shape::comment_field(self.table, &after.name, comment);
        let step = self.push(
            format!("comments on the field {}", after.name),
            statement(&after.comment),
            Some(statement(&before.comment)),
        );
        step.locks = "none".to_owned();
    }
}
