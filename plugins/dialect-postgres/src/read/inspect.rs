//! Inspects tables: six queries for all of them together, one more if some are partitioned.

use std::collections::{BTreeMap, BTreeSet};

use lakeport_sdk::Row;
use lakeport_sdk::dialect::{Error, Field, Query, Reference, RowSet, ServerInfo, Table, TableName};

use super::dependents::{self, Dependents};
use super::{ByRelation, Source, kind_of, no_table, numbered, places};
use crate::facts::{FieldFacts, TableFacts};
use crate::plan::{COMPANION_MARK, companion_name};
use crate::version::{COMPRESSION, is_at_least};
use crate::{defaults, types};

/// The answers of the queries.
pub struct Answers {
    /// The relations themselves.
    pub heads: RowSet,
    /// Their columns, without dropped ones.
    pub fields: RowSet,
    /// Their primary keys.
    pub keys: RowSet,
    /// Their foreign keys of single fields.
    pub references: RowSet,
    /// Their parents and children.
    pub family: RowSet,
    /// Their dependents.
    pub dependents: RowSet,
    /// Columns with another default in some partition.
    pub other_defaults: RowSet,
}

/// Tables in the requested order.
pub fn inspect(
    source: &impl Source,
    server: &ServerInfo,
    tables: &[TableName],
) -> Result<Vec<Result<Table, Error>>, Error> {
    let heads = source.ask(heads_query(tables))?;
    let relations = heads.iter().map(|row| row.integer("relation")).collect::<Result<Vec<_>, _>>()?;
    if relations.is_empty() {
        return Ok(tables.iter().map(|table| Err(no_table(table))).collect());
    }
    let mut partitioned = Vec::new();
    for row in heads.iter() {
        if row.text("kind")? == "p" {
            partitioned.push(row.integer("relation")?);
        }
    }
    let answers = Answers {
        fields: source.ask(fields_query(server, &relations))?,
        keys: source.ask(keys_query(&relations))?,
        references: source.ask(references_query(&relations))?,
        family: source.ask(family_query(&relations))?,
        dependents: source.ask(dependents::query(&relations))?,
        other_defaults: match partitioned.as_slice() {
            [] => RowSet { columns: Vec::new(), rows: Vec::new(), truncated: false },
            partitioned => source.ask(other_defaults_query(partitioned))?,
        },
        heads,
    };
    tables_of(tables, &answers)
}

fn heads_query(tables: &[TableName]) -> Query {
    let query = Query::new(
        "SELECT CAST(c.oid AS bigint) AS relation, CAST(n.nspname AS text) AS schema_name, \
         CAST(c.relname AS text) AS name, CAST(c.relkind AS text) AS kind, d.description AS comment, \
         CAST(c.relpersistence AS text) AS persistence, c.relispartition AS is_partition, \
         c.reloftype <> 0 AS of_type, CAST(p.partstrat AS text) AS strategy, \
         CAST(p.partattrs AS text) AS partition_fields, p.partexprs IS NOT NULL AS by_expression, \
         CAST(b.relname AS text) AS default_partition, b.relnamespace = c.relnamespace AS default_is_near, \
         bd.description AS default_comment, CAST(e.extname AS text) AS extension \
         FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         LEFT JOIN pg_catalog.pg_description AS d ON d.objoid = c.oid \
         AND d.classoid = 'pg_catalog.pg_class'::regclass AND d.objsubid = 0 \
         LEFT JOIN pg_catalog.pg_partitioned_table AS p ON p.partrelid = c.oid \
         LEFT JOIN pg_catalog.pg_class AS b ON b.oid = p.partdefid \
         LEFT JOIN pg_catalog.pg_description AS bd ON bd.objoid = b.oid \
         AND bd.classoid = 'pg_catalog.pg_class'::regclass AND bd.objsubid = 0 \
         LEFT JOIN pg_catalog.pg_depend AS x ON x.classid = 'pg_catalog.pg_class'::regclass \
         AND x.objid = c.oid AND x.objsubid = 0 AND x.deptype = 'e' \
         AND x.refclassid = 'pg_catalog.pg_extension'::regclass \
         LEFT JOIN pg_catalog.pg_extension AS e ON e.oid = x.refobjid \
         WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ",
    );
    places(query, tables).sql(" ORDER BY c.oid")
}

fn fields_query(server: &ServerInfo, relations: &[i64]) -> Query {
    let query = Query::new(
        "SELECT CAST(a.attrelid AS bigint) AS relation, CAST(a.attnum AS bigint) AS number, \
         CAST(a.attname AS text) AS name, pg_catalog.format_type(a.atttypid, a.atttypmod) AS type_text, \
         a.attnotnull AS not_null, CAST(a.attidentity AS text) AS identity, \
         CAST(a.attgenerated AS text) AS generated, \
         pg_catalog.pg_get_expr(e.adbin, e.adrelid) AS default_text, d.description AS comment, \
         CASE WHEN a.attcollation <> 0 AND a.attcollation <> t.typcollation \
         THEN pg_catalog.quote_ident(ln.nspname) || '.' || pg_catalog.quote_ident(l.collname) END AS collation_name, \
         CASE WHEN a.attstorage <> t.typstorage THEN CAST(a.attstorage AS text) END AS storage, \
         CAST(a.attoptions AS text) AS options, CAST(t.typtype AS text) AS type_kind, \
         a.attinhcount > 0 AS inherited, ",
    );
    let query = if is_at_least(server, COMPRESSION) {
        query.sql("CAST(a.attcompression AS text) AS compression")
    } else {
        query.sql("'' AS compression")
    };
    let query = query.sql(
        " FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid \
         LEFT JOIN pg_catalog.pg_attrdef AS e ON e.adrelid = a.attrelid AND e.adnum = a.attnum \
         LEFT JOIN pg_catalog.pg_collation AS l ON l.oid = a.attcollation \
         LEFT JOIN pg_catalog.pg_namespace AS ln ON ln.oid = l.collnamespace \
         LEFT JOIN pg_catalog.pg_description AS d ON d.objoid = a.attrelid \
         AND d.classoid = 'pg_catalog.pg_class'::regclass AND d.objsubid = a.attnum \
         WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attrelid ",
    );
    numbered(query, relations).sql(" ORDER BY 1, 2")
}

fn keys_query(relations: &[i64]) -> Query {
    let query = Query::new(
        "SELECT CAST(k.conrelid AS bigint) AS relation, CAST(k.conkey AS text) AS numbers \
         FROM pg_catalog.pg_constraint AS k WHERE k.contype = 'p' AND k.conrelid ",
    );
    numbered(query, relations).sql(" ORDER BY 1")
}

/// Without the constraints that PostgreSQL derives from one to a partitioned table, one for each partition.
fn references_query(relations: &[i64]) -> Query {
    let query = Query::new(
        "SELECT CAST(k.conrelid AS bigint) AS relation, CAST(a.attname AS text) AS field, \
         CAST(n.nspname AS text) AS parent_schema, CAST(c.relname AS text) AS parent, \
         CAST(b.attname AS text) AS parent_field \
         FROM pg_catalog.pg_constraint AS k JOIN pg_catalog.pg_class AS c ON c.oid = k.confrelid \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         JOIN pg_catalog.pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = ANY (k.conkey) \
         JOIN pg_catalog.pg_attribute AS b ON b.attrelid = k.confrelid AND b.attnum = ANY (k.confkey) \
         LEFT JOIN pg_catalog.pg_constraint AS o ON o.oid = k.conparentid \
         WHERE k.contype = 'f' AND pg_catalog.cardinality(k.conkey) = 1 \
         AND (o.oid IS NULL OR o.conrelid <> k.conrelid) AND k.conrelid ",
    );
    numbered(query, relations).sql(" ORDER BY 1, 2, 3, 4, 5")
}

/// Parents, children that are not partitions, by name, and the number of partitions.
fn family_query(relations: &[i64]) -> Query {
    let query = Query::new(
        "SELECT CAST(i.inhrelid AS bigint) AS relation, 'parent' AS role, CAST(n.nspname AS text) AS schema_name, \
         CAST(c.relname AS text) AS name, CAST(1 AS bigint) AS members \
         FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhparent \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE i.inhrelid ",
    );
    let query = numbered(query, relations).sql(
        " UNION ALL SELECT CAST(i.inhparent AS bigint), 'child', CAST(n.nspname AS text), \
         CAST(c.relname AS text), CAST(1 AS bigint) \
         FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         WHERE NOT c.relispartition AND i.inhparent ",
    );
    let query = numbered(query, relations).sql(
        " UNION ALL SELECT CAST(i.inhparent AS bigint), 'partitions', '', '', count(*) \
         FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid \
         WHERE c.relispartition AND i.inhparent ",
    );
    numbered(query, relations).sql(" GROUP BY 1 ORDER BY 1, 2, 3, 4")
}

/// Setting a default on a partitioned table overwrites the defaults of all its partitions.
fn other_defaults_query(relations: &[i64]) -> Query {
    let query = Query::new(
        "WITH RECURSIVE members (root, member) AS (\
         SELECT i.inhparent, i.inhrelid FROM pg_catalog.pg_inherits AS i WHERE i.inhparent ",
    );
    numbered(query, relations).sql(
        " UNION ALL SELECT m.root, i.inhrelid FROM members AS m \
         JOIN pg_catalog.pg_inherits AS i ON i.inhparent = m.member) \
         SELECT DISTINCT CAST(m.root AS bigint) AS relation, CAST(a.attnum AS bigint) AS number \
         FROM members AS m JOIN pg_catalog.pg_attribute AS a ON a.attrelid = m.root \
         JOIN pg_catalog.pg_attribute AS b ON b.attrelid = m.member AND b.attname = a.attname \
         LEFT JOIN pg_catalog.pg_attrdef AS e ON e.adrelid = a.attrelid AND e.adnum = a.attnum \
         LEFT JOIN pg_catalog.pg_attrdef AS f ON f.adrelid = b.attrelid AND f.adnum = b.attnum \
         WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' \
         AND (e.oid IS NOT NULL OR f.oid IS NOT NULL) \
         AND pg_catalog.pg_get_expr(e.adbin, e.adrelid) IS DISTINCT FROM pg_catalog.pg_get_expr(f.adbin, f.adrelid) \
         ORDER BY 1, 2",
    )
}

/// Builds tables from answers, in the requested order.
pub fn tables_of(tables: &[TableName], answers: &Answers) -> Result<Vec<Result<Table, Error>>, Error> {
    let mut heads = BTreeMap::new();
    for row in answers.heads.iter() {
        heads.insert((row.text("schema_name")?, row.text("name")?), row);
    }
    let parts = Parts {
        fields: ByRelation::of(&answers.fields)?,
        keys: ByRelation::of(&answers.keys)?,
        references: ByRelation::of(&answers.references)?,
        family: ByRelation::of(&answers.family)?,
        dependents: ByRelation::of(&answers.dependents)?,
        other_defaults: ByRelation::of(&answers.other_defaults)?,
    };
    let one = |table: &TableName| match heads.get(&(table.database.as_str(), table.name.as_str())) {
        Some(head) => parts.table(table, head),
        None if answers.heads.truncated => {
            Err(Error::limit_exceeded("the table did not fit into the answer"))
        }
        None => Err(no_table(table)),
    };
    Ok(tables.iter().map(one).collect())
}

struct Parts<'a> {
    fields: ByRelation<'a>,
    keys: ByRelation<'a>,
    references: ByRelation<'a>,
    family: ByRelation<'a>,
    dependents: ByRelation<'a>,
    other_defaults: ByRelation<'a>,
}

impl Parts<'_> {
    fn table(&self, name: &TableName, head: &Row<'_>) -> Result<Table, Error> {
        let relation = head.integer("relation")?;
        let kind = kind_of(head.text("kind")?);
        let dependents = Dependents::of(self.dependents.get(relation)?)?;
        let rows = self.fields.get(relation)?;
        let mut by_number = BTreeMap::new();
        for row in rows {
            by_number.insert(row.integer("number")?, row.text("name")?.to_owned());
        }
        let named = |numbers: Option<&str>| -> Vec<String> {
            numbers_of(numbers.unwrap_or_default())
                .filter_map(|number| by_number.get(&number).cloned())
                .collect()
        };
        let keys = match self.keys.get(relation)?.first() {
            Some(row) => named(row.optional_text("numbers")?),
            None => Vec::new(),
        };
        let mut other_defaults = BTreeSet::new();
        for row in self.other_defaults.get(relation)? {
            other_defaults.insert(row.integer("number")?);
        }
        let beside = Beside { dependents: &dependents, other_defaults: &other_defaults };
        let fields = rows
            .iter()
            .map(|row| field_of(row, &keys, (kind == "table").then_some(&beside)))
            .collect::<Result<Vec<_>, _>>()?;
        let mut facts = facts_of(head, self.family.get(relation)?)?;
        dependents.add_to_table(&mut facts);
        facts.references = references_of(self.references.get(relation)?)?;
        Ok(Table {
            name: name.clone(),
            kind: kind.to_owned(),
            comment: head.optional_text("comment")?.unwrap_or_default().to_owned(),
            fields,
            keys,
            model: None,
            distribution: Vec::new(),
            buckets: None,
            replicas: None,
            partition: named(head.optional_text("partition_fields")?),
            companions: companion(name, head)?.into_iter().collect(),
            extra: (kind == "table").then(|| facts.to_json()),
        })
    }
}

fn references_of(rows: &[Row<'_>]) -> Result<Vec<Reference>, Error> {
    let reference = |row: &Row<'_>| {
        Ok(Reference {
            field: row.text("field")?.to_owned(),
            database: row.text("parent_schema")?.to_owned(),
            table: row.text("parent")?.to_owned(),
            key: row.text("parent_field")?.to_owned(),
        })
    };
    rows.iter().map(reference).collect()
}

/// The elements of an array `{1,2}` or a vector `1 2`.
fn numbers_of(text: &str) -> impl Iterator<Item = i64> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok())
}

/// The partition that a plan created along with the table: it has the name and the mark that plans use.
fn companion(name: &TableName, head: &Row<'_>) -> Result<Option<String>, Error> {
    let marked = head.optional_text("default_comment")? == Some(COMPANION_MARK);
    match head.optional_text("default_partition")? {
        Some(other) if marked && head.boolean("default_is_near")? && other == companion_name(&name.name) => {
            Ok(Some(other.to_owned()))
        }
        _ => Ok(None),
    }
}

fn facts_of(head: &Row<'_>, family: &[Row<'_>]) -> Result<TableFacts, Error> {
    let strategy = head.optional_text("strategy")?.map(|strategy| match strategy {
        "r" => "RANGE",
        "l" => "LIST",
        "h" => "HASH",
        other => other,
    });
    let mut facts = TableFacts {
        partitioned_by: strategy.map(str::to_owned),
        by_expression: strategy.is_some() && head.boolean("by_expression")?,
        of_type: head.boolean("of_type")?,
        extension: head.optional_text("extension")?.map(str::to_owned),
        persistence: match head.text("persistence")? {
            "p" => None,
            "u" => Some("unlogged".to_owned()),
            _ => Some("temporary".to_owned()),
        },
        ..TableFacts::default()
    };
    let is_partition = head.boolean("is_partition")?;
    for row in family {
        let other = format!("{}.{}", row.text("schema_name")?, row.text("name")?);
        match row.text("role")? {
            "parent" if is_partition => facts.partition_of = Some(other),
            "parent" => drop(facts.inherits.insert(other)),
            "child" => drop(facts.children.insert(other)),
            _ => facts.partitions = u64::try_from(row.integer("members")?).unwrap_or(0),
        }
    }
    Ok(facts)
}

/// Facts about a table's fields besides their own rows.
struct Beside<'a> {
    dependents: &'a Dependents,
    /// Columns, by number, with another default in some partition.
    other_defaults: &'a BTreeSet<i64>,
}

fn field_of(row: &Row<'_>, keys: &[String], beside: Option<&Beside<'_>>) -> Result<Field, Error> {
    let name = row.text("name")?.to_owned();
    let type_text = row.text("type_text")?.to_owned();
    let expression = row.optional_text("default_text")?;
    let is_generated = !row.text("generated")?.is_empty();
    let extra = match beside {
        Some(beside) => {
            let number = row.integer("number")?;
            let mut facts = field_facts(row, &type_text)?;
            facts.defaults_differ = beside.other_defaults.contains(&number);
            beside.dependents.add_to_field(number, &mut facts);
            facts.to_json()
        }
        None => None,
    };
    Ok(Field {
        nullable: !row.boolean("not_null")?,
        key: keys.contains(&name),
        comment: row.optional_text("comment")?.unwrap_or_default().to_owned(),
        defaults_to: defaults::read(expression.filter(|_| !is_generated), &type_text),
        generated: expression.filter(|_| is_generated).map(str::to_owned),
        name,
        type_text,
        extra,
    })
}

fn field_facts(row: &Row<'_>, type_text: &str) -> Result<FieldFacts, Error> {
    let identity = match row.text("identity")? {
        "a" => Some("always"),
        "d" => Some("by default"),
        _ => None,
    };
    let kind = match row.text("type_kind")? {
        "d" => "domain",
        "e" => "enumeration",
        "c" => "composite type",
        _ => "type",
    };
    let storage = row.optional_text("storage")?.map(|storage| format!("storage {}", storage_of(storage)));
    let compression = match row.text("compression")? {
        "l" => Some("compression lz4".to_owned()),
        "p" => Some("compression pglz".to_owned()),
        _ => None,
    };
    let options = row.optional_text("options")?.map(|options| format!("options {options}"));
    Ok(FieldFacts {
        identity: identity.map(str::to_owned),
        collation: row.optional_text("collation_name")?.map(str::to_owned),
        storage: [storage, compression, options].into_iter().flatten().collect(),
        inherited: row.boolean("inherited")?,
        type_kind: types::parse(type_text).is_err().then(|| kind.to_owned()),
        ..FieldFacts::default()
    })
}

/// The word for `attstorage`.
pub fn storage_of(letter: &str) -> &'static str {
    match letter {
        "p" => "PLAIN",
        "e" => "EXTERNAL",
        "m" => "MAIN",
        _ => "EXTENDED",
    }
}
