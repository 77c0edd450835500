//! The objects that depend on tables and their fields, in one query: those that would be dropped with them,
//! and those that would prevent it.

use std::collections::{BTreeMap, BTreeSet};

use lakeport_sdk::Row;
use lakeport_sdk::dialect::{Error, Query};

use super::numbered;
use crate::facts::{FieldFacts, TableFacts};

/// All objects that depend on these relations or their columns, by relation. A primary key is listed only for
/// the columns that it includes: its own are known.
pub fn query(relations: &[i64]) -> Query {
    let wanted = Query::new(
        "WITH wanted AS (SELECT d.classid AS classid, d.objid AS objid, d.refobjid AS refobjid, \
         d.refobjsubid AS refobjsubid FROM pg_catalog.pg_depend AS d \
         WHERE d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid ",
    );
    numbered(wanted, relations).sql(
        "), found AS (\
         SELECT w.refobjid AS relation, w.refobjsubid AS number, w.objid AS object, \
         'constraint ' || CAST(k.contype AS text) AS kind, n.nspname AS schema_name, o.relname AS owner_name, \
         k.conname AS name, k.conrelid AS owner \
         FROM wanted AS w JOIN pg_catalog.pg_constraint AS k ON k.oid = w.objid \
         JOIN pg_catalog.pg_class AS o ON o.oid = k.conrelid \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = o.relnamespace \
         WHERE w.classid = 'pg_catalog.pg_constraint'::regclass AND k.contype NOT IN ('n', 't') AND k.conparentid = 0 \
         AND NOT (k.contype = 'p' AND w.refobjsubid = ANY (k.conkey)) \
         UNION ALL \
         SELECT w.refobjid, w.refobjsubid, w.objid, CASE x.relkind WHEN 'S' THEN 'sequence' ELSE 'index' END, \
         n.nspname, x.relname, x.relname, w.refobjid \
         FROM wanted AS w JOIN pg_catalog.pg_class AS x ON x.oid = w.objid \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = x.relnamespace \
         WHERE w.classid = 'pg_catalog.pg_class'::regclass AND x.relkind IN ('i', 'I', 'S') \
         UNION ALL \
         SELECT w.refobjid, w.refobjsubid, w.objid, CASE WHEN v.oid = w.refobjid THEN 'rule' ELSE 'view' END, \
         n.nspname, v.relname, r.rulename, v.oid \
         FROM wanted AS w JOIN pg_catalog.pg_rewrite AS r ON r.oid = w.objid \
         JOIN pg_catalog.pg_class AS v ON v.oid = r.ev_class \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = v.relnamespace \
         WHERE w.classid = 'pg_catalog.pg_rewrite'::regclass \
         UNION ALL \
         SELECT w.refobjid, w.refobjsubid, w.objid, 'trigger', n.nspname, o.relname, t.tgname, t.tgrelid \
         FROM wanted AS w JOIN pg_catalog.pg_trigger AS t ON t.oid = w.objid \
         JOIN pg_catalog.pg_class AS o ON o.oid = t.tgrelid \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = o.relnamespace \
         WHERE w.classid = 'pg_catalog.pg_trigger'::regclass AND NOT t.tgisinternal \
         UNION ALL \
         SELECT w.refobjid, w.refobjsubid, w.objid, 'policy', n.nspname, o.relname, p.polname, p.polrelid \
         FROM wanted AS w JOIN pg_catalog.pg_policy AS p ON p.oid = w.objid \
         JOIN pg_catalog.pg_class AS o ON o.oid = p.polrelid \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = o.relnamespace \
         WHERE w.classid = 'pg_catalog.pg_policy'::regclass \
         UNION ALL \
         SELECT w.refobjid, w.refobjsubid, w.objid, 'statistics', n.nspname, s.stxname, s.stxname, s.stxrelid \
         FROM wanted AS w JOIN pg_catalog.pg_statistic_ext AS s ON s.oid = w.objid \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = s.stxnamespace \
         WHERE w.classid = 'pg_catalog.pg_statistic_ext'::regclass \
         UNION ALL \
         SELECT w.refobjid, w.refobjsubid, w.objid, 'publication', '', '', b.pubname, w.refobjid \
         FROM wanted AS w JOIN pg_catalog.pg_publication_rel AS r ON r.oid = w.objid \
         JOIN pg_catalog.pg_publication AS b ON b.oid = r.prpubid \
         WHERE w.classid = 'pg_catalog.pg_publication_rel'::regclass \
         UNION ALL \
         SELECT w.refobjid, w.refobjsubid, w.objid, 'function', n.nspname, f.proname, f.proname, 0 \
         FROM wanted AS w JOIN pg_catalog.pg_proc AS f ON f.oid = w.objid \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = f.pronamespace \
         WHERE w.classid = 'pg_catalog.pg_proc'::regclass) \
         SELECT DISTINCT CAST(f.relation AS bigint) AS relation, CAST(f.number AS bigint) AS number, \
         CAST(f.object AS bigint) AS object, f.kind AS kind, CAST(f.schema_name AS text) AS schema_name, \
         CAST(f.owner_name AS text) AS owner_name, CAST(f.name AS text) AS name, \
         CAST(f.owner AS bigint) AS owner FROM found AS f ORDER BY 1, 2, 3",
    )
}

/// The dependents of one table.
#[derive(Debug, Default)]
pub struct Dependents {
    objects: BTreeMap<(String, i64), Object>,
}

#[derive(Debug)]
struct Object {
    /// For people, without the names of the table and its fields.
    shown: String,
    role: Role,
    /// Columns by number.
    columns: BTreeSet<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    /// Dropped with its fields: an index.
    Part,
    /// Likewise, but also belongs to fields that are not named: a key with an included column.
    Shared,
    /// Belongs to the table and locks the fields that it names: a trigger.
    Holder,
    /// Belongs to another object: a view.
    User,
}

impl Dependents {
    /// Reads the rows of one relation.
    pub fn of(rows: &[Row<'_>]) -> Result<Dependents, Error> {
        let mut dependents = Dependents::default();
        for row in rows {
            let own = row.integer("owner")? == row.integer("relation")?;
            let kind = row.text("kind")?;
            let (schema, owner, name) =
                (row.text("schema_name")?, row.text("owner_name")?, row.text("name")?);
            let (role, shown) = match kind {
                "constraint f" if !own => (Role::User, format!("the foreign key {name} of {schema}.{owner}")),
                "constraint f" => (Role::Part, format!("foreign key {name}")),
                "constraint p" => (Role::Shared, format!("primary key {name}")),
                "constraint u" => (Role::Part, format!("unique constraint {name}")),
                "constraint x" => (Role::Part, format!("exclusion constraint {name}")),
                _ if kind.starts_with("constraint") => (Role::Part, format!("check {name}")),
                "index" | "sequence" | "statistics" => (Role::Part, format!("{kind} {name}")),
                "view" => (Role::User, format!("the view {schema}.{owner}")),
                "function" => (Role::User, format!("the function {schema}.{owner}")),
                "trigger" | "policy" if !own => {
                    (Role::User, format!("the {kind} {name} of {schema}.{owner}"))
                }
                _ => (Role::Holder, format!("{kind} {name}")),
            };
            let key = (kind.to_owned(), row.integer("object")?);
            let object = dependents.objects.entry(key).or_insert_with(|| Object {
                shown,
                role,
                columns: BTreeSet::new(),
            });
            object.columns.extend(Some(row.integer("number")?).filter(|number| *number > 0));
        }
        Ok(dependents)
    }

    /// Adds the dependents of the table that belong to no single field.
    pub fn add_to_table(&self, facts: &mut TableFacts) {
        for object in self.objects.values() {
            match object.role {
                Role::User => facts.users.insert(object.shown.clone()),
                Role::Holder | Role::Shared => facts.parts.insert(object.shown.clone()),
                Role::Part if object.columns.len() != 1 => facts.parts.insert(object.shown.clone()),
                Role::Part => false,
            };
        }
    }

    /// Adds the dependents of one field.
    pub fn add_to_field(&self, number: i64, facts: &mut FieldFacts) {
        for object in self.objects.values().filter(|object| object.columns.contains(&number)) {
            let names = match object.role {
                Role::Part if object.columns.len() == 1 => &mut facts.own,
                Role::Part | Role::Shared => &mut facts.shared,
                Role::Holder | Role::User => &mut facts.users,
            };
            names.insert(object.shown.clone());
        }
    }
}
