//! The catalogue queries about one table and all its partitions.

use lakeport_sdk::Row;
use lakeport_sdk::dialect::{Error, Query, RowSet, ServerInfo, TableName};

use crate::read::{ByRelation, Source, numbered, places};
use crate::version::{COMPRESSION, is_at_least};

/// The answers.
pub struct Catalogue {
    relations: RowSet,
    columns: RowSet,
    constraints: RowSet,
    indexes: RowSet,
    parents: RowSet,
    sequences: RowSet,
    others: RowSet,
    comments: RowSet,
}

/// The answers by relation.
pub struct Parts<'a> {
    /// The table, then its partitions, each after its parent.
    pub relations: Vec<Row<'a>>,
    pub columns: ByRelation<'a>,
    pub constraints: ByRelation<'a>,
    pub indexes: ByRelation<'a>,
    pub parents: ByRelation<'a>,
    pub sequences: ByRelation<'a>,
    /// Triggers, rules, policies, statistics: their own statements.
    pub others: ByRelation<'a>,
    pub comments: ByRelation<'a>,
}

/// Runs the queries; `None` if the table does not exist.
pub fn ask(source: &impl Source, server: &ServerInfo, table: &TableName) -> Result<Option<Catalogue>, Error> {
    let relations = source.ask_whole(relations_query(table))?;
    let ids = relations.iter().map(|row| row.integer("relation")).collect::<Result<Vec<_>, _>>()?;
    if ids.is_empty() {
        return Ok(None);
    }
    Ok(Some(Catalogue {
        columns: source.ask_whole(columns_query(server, &ids))?,
        constraints: source.ask_whole(constraints_query(&ids))?,
        indexes: source.ask_whole(indexes_query(&ids))?,
        parents: source.ask_whole(parents_query(&ids))?,
        sequences: source.ask_whole(sequences_query(&ids))?,
        others: source.ask_whole(others_query(&ids))?,
        comments: source.ask_whole(comments_query(&ids))?,
        relations,
    }))
}

impl Catalogue {
    /// Groups the answers by relation.
    pub fn parts(&self) -> Result<Parts<'_>, Error> {
        Ok(Parts {
            relations: self.relations.iter().collect(),
            columns: ByRelation::of(&self.columns)?,
            constraints: ByRelation::of(&self.constraints)?,
            indexes: ByRelation::of(&self.indexes)?,
            parents: ByRelation::of(&self.parents)?,
            sequences: ByRelation::of(&self.sequences)?,
            others: ByRelation::of(&self.others)?,
            comments: ByRelation::of(&self.comments)?,
        })
    }
}

fn relations_query(table: &TableName) -> Query {
    let query = Query::new(
        "WITH RECURSIVE members (member, parent, place) AS (\
         SELECT c.oid, CAST(0 AS oid), CAST('' AS text) FROM pg_catalog.pg_class AS c \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ",
    );
    places(query, std::slice::from_ref(table)).sql(
        " UNION ALL SELECT i.inhrelid, i.inhparent, m.place || '/' || pg_catalog.lpad(\
         pg_catalog.row_number() OVER (PARTITION BY m.member ORDER BY \
         pg_catalog.pg_get_expr(p.relpartbound, p.oid) = 'DEFAULT', p.relname)::text, 6, '0') \
         FROM members AS m JOIN pg_catalog.pg_inherits AS i ON i.inhparent = m.member \
         JOIN pg_catalog.pg_class AS p ON p.oid = i.inhrelid WHERE p.relispartition) \
         SELECT CAST(c.oid AS bigint) AS relation, CAST(m.parent AS bigint) AS parent, \
         CAST(n.nspname AS text) AS schema_name, CAST(c.relname AS text) AS name, CAST(c.relkind AS text) AS kind, \
         CAST(c.relpersistence AS text) AS persistence, c.relispartition AS is_partition, \
         pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS bound, \
         CASE WHEN c.relkind = 'p' THEN pg_catalog.pg_get_partkeydef(c.oid) END AS partition_key, \
         CASE WHEN c.reloftype <> 0 THEN pg_catalog.format_type(c.reloftype, NULL) END AS of_type, \
         CASE WHEN a.amname <> 'heap' THEN CAST(a.amname AS text) END AS method, \
         CAST(s.spcname AS text) AS tablespace, \
         CAST(pg_catalog.array_to_json(c.reloptions) AS text) AS options, \
         CAST(pg_catalog.array_to_json(o.reloptions) AS text) AS toast_options, \
         c.relrowsecurity AS row_security, c.relforcerowsecurity AS forces_row_security, \
         CAST(c.relreplident AS text) AS replica_identity, c.relispopulated AS is_populated, \
         CASE WHEN c.relkind IN ('v', 'm') THEN pg_catalog.pg_get_viewdef(c.oid) END AS view_text, \
         CAST(fs.srvname AS text) AS server_name, \
         CAST(pg_catalog.array_to_json(f.ftoptions) AS text) AS foreign_options \
         FROM members AS m JOIN pg_catalog.pg_class AS c ON c.oid = m.member \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         LEFT JOIN pg_catalog.pg_am AS a ON a.oid = c.relam \
         LEFT JOIN pg_catalog.pg_tablespace AS s ON s.oid = c.reltablespace \
         LEFT JOIN pg_catalog.pg_class AS o ON o.oid = c.reltoastrelid \
         LEFT JOIN pg_catalog.pg_foreign_table AS f ON f.ftrelid = c.oid \
         LEFT JOIN pg_catalog.pg_foreign_server AS fs ON fs.oid = f.ftserver \
         ORDER BY m.place",
    )
}

fn columns_query(server: &ServerInfo, relations: &[i64]) -> Query {
    let query = Query::new(
        "SELECT CAST(a.attrelid AS bigint) AS relation, CAST(a.attnum AS bigint) AS number, \
         CAST(a.attname AS text) AS name, pg_catalog.format_type(a.atttypid, a.atttypmod) \
         || pg_catalog.repeat('[]', a.attndims - 1) AS type_text, \
         a.attnotnull AS not_null, CAST(a.attidentity AS text) AS identity, \
         CAST(a.attgenerated AS text) AS generated, \
         pg_catalog.pg_get_expr(e.adbin, e.adrelid) AS default_text, \
         CASE WHEN a.attcollation <> 0 AND a.attcollation <> t.typcollation \
         THEN pg_catalog.quote_ident(ln.nspname) || '.' || pg_catalog.quote_ident(l.collname) END AS collation_name, \
         CASE WHEN a.attstorage <> t.typstorage THEN CAST(a.attstorage AS text) END AS storage, \
         CAST(a.attstattarget AS bigint) AS statistics_target, \
         CAST(pg_catalog.array_to_json(a.attoptions) AS text) AS options, \
         CAST(pg_catalog.array_to_json(a.attfdwoptions) AS text) AS foreign_options, \
         a.attislocal AS is_local, ",
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
         WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attrelid ",
    );
    numbered(query, relations).sql(" ORDER BY 1, 2")
}

/// Keys first, then by name.
fn constraints_query(relations: &[i64]) -> Query {
    let query = Query::new(
        "SELECT CAST(k.conrelid AS bigint) AS relation, CAST(k.conname AS text) AS name, \
         CAST(k.contype AS text) AS kind, pg_catalog.pg_get_constraintdef(k.oid) AS text, \
         k.convalidated AS is_valid, k.conislocal AS is_local, k.conparentid <> 0 AS is_copy, \
         EXISTS (SELECT 1 FROM pg_catalog.pg_inherits AS h WHERE h.inhrelid = k.conindid) AS is_attached \
         FROM pg_catalog.pg_constraint AS k WHERE k.contype IN ('p', 'u', 'c', 'x', 'f') AND k.conrelid ",
    );
    numbered(query, relations)
        .sql(" ORDER BY 1, pg_catalog.strpos('puxcf', CAST(k.contype AS text)), k.conname")
}

fn indexes_query(relations: &[i64]) -> Query {
    let query = Query::new(
        "SELECT CAST(i.indrelid AS bigint) AS relation, CAST(n.nspname AS text) AS schema_name, \
         CAST(c.relname AS text) AS name, pg_catalog.pg_get_indexdef(i.indexrelid) AS text, \
         EXISTS (SELECT 1 FROM pg_catalog.pg_constraint AS k WHERE k.conindid = i.indexrelid \
         AND k.conrelid = i.indrelid AND k.contype IN ('p', 'u', 'x')) AS is_of_constraint, \
         EXISTS (SELECT 1 FROM pg_catalog.pg_inherits AS h WHERE h.inhrelid = i.indexrelid) AS is_attached, \
         i.indisclustered AS is_clustered, i.indisreplident AS is_identity, \
         CAST(pg_catalog.array_to_json(c.reloptions) AS text) AS options, CAST(s.spcname AS text) AS tablespace, \
         (SELECT CAST(pg_catalog.array_to_json(pg_catalog.array_agg(a.attnum || ' ' || a.attstattarget \
         ORDER BY a.attnum)) AS text) FROM pg_catalog.pg_attribute AS a \
         WHERE a.attrelid = i.indexrelid AND a.attstattarget >= 0) AS targets \
         FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         LEFT JOIN pg_catalog.pg_tablespace AS s ON s.oid = c.reltablespace \
         WHERE (i.indisvalid OR c.relkind = 'I') AND i.indrelid ",
    );
    numbered(query, relations).sql(" ORDER BY 1, c.relname")
}

fn parents_query(relations: &[i64]) -> Query {
    let query = Query::new(
        "SELECT CAST(i.inhrelid AS bigint) AS relation, CAST(n.nspname AS text) AS schema_name, \
         CAST(c.relname AS text) AS name FROM pg_catalog.pg_inherits AS i \
         JOIN pg_catalog.pg_class AS c ON c.oid = i.inhparent \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE i.inhrelid ",
    );
    numbered(query, relations).sql(" ORDER BY 1, i.inhseqno")
}

/// Sequences owned by a column: of an identity, or of a `serial`.
fn sequences_query(relations: &[i64]) -> Query {
    let query = Query::new(
        "SELECT CAST(d.refobjid AS bigint) AS relation, CAST(d.refobjsubid AS bigint) AS number, \
         d.deptype = 'i' AS is_identity, CAST(n.nspname AS text) AS schema_name, CAST(c.relname AS text) AS name, \
         CAST(c.relpersistence AS text) AS persistence, pg_catalog.format_type(q.seqtypid, NULL) AS type_text, \
         q.seqstart AS start, q.seqincrement AS step, q.seqmin AS minimum, q.seqmax AS maximum, \
         q.seqcache AS cache, q.seqcycle AS cycles \
         FROM pg_catalog.pg_depend AS d JOIN pg_catalog.pg_class AS c ON c.oid = d.objid \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         JOIN pg_catalog.pg_sequence AS q ON q.seqrelid = c.oid \
         WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass \
         AND d.deptype IN ('a', 'i') AND d.refobjsubid > 0 AND d.refobjid ",
    );
    numbered(query, relations).sql(" ORDER BY 1, 2")
}

/// Complete statements, in the order of execution. For a trigger inherited from a partitioned table, only
/// settings that differ.
fn others_query(relations: &[i64]) -> Query {
    let query = Query::new(
        "SELECT CAST(s.stxrelid AS bigint) AS relation, CAST(1 AS bigint) AS place, CAST(s.stxname AS text) AS name, \
         pg_catalog.pg_get_statisticsobjdef(s.oid) AS text, \
         CASE WHEN s.stxstattarget >= 0 THEN 'ALTER STATISTICS ' || pg_catalog.quote_ident(n.nspname) || '.' \
         || pg_catalog.quote_ident(s.stxname) || ' SET STATISTICS ' || s.stxstattarget END AS setting \
         FROM pg_catalog.pg_statistic_ext AS s JOIN pg_catalog.pg_namespace AS n ON n.oid = s.stxnamespace \
         WHERE s.stxrelid ",
    );
    let query = numbered(query, relations).sql(
        " UNION ALL SELECT CAST(r.ev_class AS bigint), 2, CAST(r.rulename AS text), \
         pg_catalog.rtrim(pg_catalog.pg_get_ruledef(r.oid), ';'), \
         CASE r.ev_enabled WHEN 'D' THEN 'DISABLE RULE ' WHEN 'R' THEN 'ENABLE REPLICA RULE ' \
         WHEN 'A' THEN 'ENABLE ALWAYS RULE ' END \
         FROM pg_catalog.pg_rewrite AS r WHERE r.rulename <> '_RETURN' AND r.ev_class ",
    );
    let query = numbered(query, relations).sql(
        " UNION ALL SELECT CAST(t.tgrelid AS bigint), 3, CAST(t.tgname AS text), \
         pg_catalog.pg_get_triggerdef(t.oid), CASE t.tgenabled WHEN 'D' THEN 'DISABLE TRIGGER ' \
         WHEN 'R' THEN 'ENABLE REPLICA TRIGGER ' WHEN 'A' THEN 'ENABLE ALWAYS TRIGGER ' END \
         FROM pg_catalog.pg_trigger AS t WHERE NOT t.tgisinternal AND t.tgparentid = 0 AND t.tgrelid ",
    );
    let query = numbered(query, relations).sql(
        " UNION ALL SELECT CAST(t.tgrelid AS bigint), 3, CAST(t.tgname AS text), NULL, \
         CASE t.tgenabled WHEN 'D' THEN 'DISABLE TRIGGER ' WHEN 'R' THEN 'ENABLE REPLICA TRIGGER ' \
         WHEN 'A' THEN 'ENABLE ALWAYS TRIGGER ' ELSE 'ENABLE TRIGGER ' END \
         FROM pg_catalog.pg_trigger AS t JOIN pg_catalog.pg_trigger AS u ON u.oid = t.tgparentid \
         LEFT JOIN pg_catalog.pg_constraint AS k ON k.oid = t.tgconstraint AND k.contype = 'f' \
         WHERE t.tgenabled <> u.tgenabled AND k.oid IS NULL AND t.tgrelid ",
    );
    let query = numbered(query, relations).sql(
        " UNION ALL SELECT CAST(p.polrelid AS bigint), 4, CAST(p.polname AS text), \
         'CREATE POLICY ' || pg_catalog.quote_ident(p.polname) || ' ON ' || pg_catalog.quote_ident(n.nspname) \
         || '.' || pg_catalog.quote_ident(c.relname) \
         || CASE WHEN p.polpermissive THEN '' ELSE ' AS RESTRICTIVE' END \
         || CASE p.polcmd WHEN 'r' THEN ' FOR SELECT' WHEN 'a' THEN ' FOR INSERT' WHEN 'w' THEN ' FOR UPDATE' \
         WHEN 'd' THEN ' FOR DELETE' ELSE '' END || ' TO ' \
         || (SELECT pg_catalog.string_agg(CASE WHEN role = 0 THEN 'PUBLIC' \
         ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(role)) END, ', ') \
         FROM unnest(p.polroles) AS given (role)) \
         || coalesce(' USING (' || pg_catalog.pg_get_expr(p.polqual, p.polrelid) || ')', '') \
         || coalesce(' WITH CHECK (' || pg_catalog.pg_get_expr(p.polwithcheck, p.polrelid) || ')', ''), NULL \
         FROM pg_catalog.pg_policy AS p JOIN pg_catalog.pg_class AS c ON c.oid = p.polrelid \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE p.polrelid ",
    );
    numbered(query, relations).sql(" ORDER BY 1, 2, 3")
}

/// Comments on the table, its columns and its objects, with their targets.
fn comments_query(relations: &[i64]) -> Query {
    let query = Query::new(
        "WITH found AS (SELECT c.oid AS relation, 1 AS place, CAST(d.objsubid AS bigint) AS number, \
         CASE WHEN d.objsubid > 0 THEN 'COLUMN' WHEN c.relkind = 'v' THEN 'VIEW' \
         WHEN c.relkind = 'm' THEN 'MATERIALIZED VIEW' WHEN c.relkind = 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END AS kind, \
         '' AS schema_name, CAST(a.attname AS text) AS name, d.description AS comment \
         FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_description AS d ON d.objoid = c.oid \
         AND d.classoid = 'pg_catalog.pg_class'::regclass \
         LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND d.objsubid > 0 \
         UNION ALL SELECT k.conrelid, 2, 0, 'CONSTRAINT', '', CAST(k.conname AS text), d.description \
         FROM pg_catalog.pg_constraint AS k JOIN pg_catalog.pg_description AS d ON d.objoid = k.oid \
         AND d.classoid = 'pg_catalog.pg_constraint'::regclass \
         UNION ALL SELECT i.indrelid, 3, 0, 'INDEX', CAST(n.nspname AS text), CAST(c.relname AS text), d.description \
         FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         JOIN pg_catalog.pg_description AS d ON d.objoid = c.oid \
         AND d.classoid = 'pg_catalog.pg_class'::regclass AND d.objsubid = 0 \
         UNION ALL SELECT s.stxrelid, 4, 0, 'STATISTICS', CAST(n.nspname AS text), CAST(s.stxname AS text), \
         d.description FROM pg_catalog.pg_statistic_ext AS s \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = s.stxnamespace \
         JOIN pg_catalog.pg_description AS d ON d.objoid = s.oid \
         AND d.classoid = 'pg_catalog.pg_statistic_ext'::regclass \
         UNION ALL SELECT r.ev_class, 5, 0, 'RULE', '', CAST(r.rulename AS text), d.description \
         FROM pg_catalog.pg_rewrite AS r JOIN pg_catalog.pg_description AS d ON d.objoid = r.oid \
         AND d.classoid = 'pg_catalog.pg_rewrite'::regclass \
         UNION ALL SELECT t.tgrelid, 6, 0, 'TRIGGER', '', CAST(t.tgname AS text), d.description \
         FROM pg_catalog.pg_trigger AS t JOIN pg_catalog.pg_description AS d ON d.objoid = t.oid \
         AND d.classoid = 'pg_catalog.pg_trigger'::regclass \
         UNION ALL SELECT p.polrelid, 7, 0, 'POLICY', '', CAST(p.polname AS text), d.description \
         FROM pg_catalog.pg_policy AS p JOIN pg_catalog.pg_description AS d ON d.objoid = p.oid \
         AND d.classoid = 'pg_catalog.pg_policy'::regclass \
         UNION ALL SELECT x.refobjid, 8, 0, 'SEQUENCE', CAST(n.nspname AS text), CAST(c.relname AS text), \
         d.description FROM pg_catalog.pg_depend AS x JOIN pg_catalog.pg_class AS c ON c.oid = x.objid \
         AND c.relkind = 'S' JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         JOIN pg_catalog.pg_description AS d ON d.objoid = c.oid \
         AND d.classoid = 'pg_catalog.pg_class'::regclass AND d.objsubid = 0 \
         WHERE x.classid = 'pg_catalog.pg_class'::regclass AND x.refclassid = 'pg_catalog.pg_class'::regclass \
         AND x.deptype IN ('a', 'i') AND x.refobjsubid > 0) \
         SELECT CAST(f.relation AS bigint) AS relation, f.kind AS kind, f.schema_name AS schema_name, \
         f.name AS name, f.comment AS comment FROM found AS f WHERE f.relation ",
    );
    numbered(query, relations).sql(" ORDER BY 1, f.place, f.number, f.name")
}
