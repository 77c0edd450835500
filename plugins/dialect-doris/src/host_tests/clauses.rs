//! The source of each statement of the golden files: the clause of the product's grammar, and the server's
//! rule behind its form. A statement without a source fails the test.

/// A form: its parts in order, the first at the beginning of the statement.
pub struct Clause {
    pub parts: &'static [&'static str],
    pub rests_on: &'static str,
}

const fn clause(parts: &'static [&'static str], rests_on: &'static str) -> Clause {
    Clause { parts, rests_on }
}

/// Forms of both products.
const COMMON: [Clause; 8] = [
    clause(
        &["DROP TABLE"],
        "dropTable: without FORCE the server keeps the table for a day and RECOVER brings it back",
    ),
    clause(&["ALTER TABLE", "RENAME `"], "renameTable: at once; the new name stands without its database"),
    clause(
        &["ALTER TABLE", "ADD COLUMN", "`"],
        "addColumn: a whole definition, FIRST or AFTER; a value field is metadata where light schema change is on",
    ),
    clause(&["ALTER TABLE", "DROP COLUMN `"], "dropColumn: a job, or metadata as above"),
    clause(
        &["ALTER TABLE", "SET (\"default.replication_num\""],
        "setProperties: in parentheses; for partitions to come",
    ),
    clause(
        &["ALTER TABLE", "MODIFY PARTITION (*) SET (\"replication_num\""],
        "modifyPartition: for the partitions that are there",
    ),
    clause(
        &["SHOW ALTER TABLE COLUMN FROM `", "WHERE TableName = \"", "ORDER BY JobId DESC LIMIT 1"],
        "showAlter: the newest job; State ends as FINISHED or CANCELLED, Msg has the reason",
    ),
    clause(&["CANCEL ALTER TABLE COLUMN FROM `"], "cancelAlter: stops a schema change"),
];

/// Forms of Apache Doris, 2.1 to 4.
pub const DORIS: [Clause; 5] = [
    clause(
        &["CREATE TABLE `", "ENGINE = OLAP", " KEY (", "DISTRIBUTED BY "],
        "createTable: key, COMMENT, [AUTO] PARTITION BY, DISTRIBUTED BY, PROPERTIES in this order; COMMENT behind \
         PARTITION is a syntax error, and so is PRIMARY KEY; the fields of the key are an ordered prefix of all; the \
         table's comment has its escapes undone and doubled quotes left, a field's loses every backslash",
    ),
    clause(
        &["ALTER TABLE", "MODIFY COLUMN `"],
        "modifyColumn: a whole definition, as a job; or, with COMMENT alone, a comment of which nothing is unescaped",
    ),
    clause(&["ALTER TABLE", "MODIFY COMMENT "], "modifyTableComment: the text between the quotes as it is"),
    clause(
        &["ALTER TABLE", "RENAME COLUMN `", "` `"],
        "renameColumn: without TO, which is a syntax error here",
    ),
    clause(
        &["ALTER TABLE", "MODIFY DISTRIBUTION DISTRIBUTED BY ", " BUCKETS "],
        "modifyDistribution: of partitioned tables only, the same kind and fields; for partitions to come",
    ),
];

/// Forms of StarRocks, 3 and 4.
pub const STARROCKS: [Clause; 7] = [
    clause(
        &["CREATE TABLE `", "ENGINE = OLAP", " KEY (", "DISTRIBUTED BY "],
        "createTableStatement: key, COMMENT, PARTITION BY, DISTRIBUTED BY, PROPERTIES; comments are literals",
    ),
    clause(
        &["ALTER TABLE", "MODIFY COLUMN `"],
        "modifyColumnClause: a whole definition; with COMMENT alone only current servers take it",
    ),
    clause(
        &["ALTER TABLE", "COMMENT = "],
        "alterTableCommentClause: from 3.1; MODIFY COMMENT is a syntax error here",
    ),
    clause(&["ALTER TABLE", "RENAME COLUMN `", "` TO `"], "columnRenameClause: from 3.3.2, with TO"),
    clause(
        &["ALTER TABLE", "DISTRIBUTED BY ", " BUCKETS "],
        "optimizeClause: from 3.2; a job rewrites all data",
    ),
    clause(
        &["SHOW ALTER TABLE OPTIMIZE FROM `", "WHERE TableName = \"", "ORDER BY JobId DESC LIMIT 1"],
        "showAlterStatement: the newest job that rewrites data",
    ),
    clause(&["CANCEL ALTER TABLE OPTIMIZE FROM `"], "cancelAlterTableStatement: stops it"),
];

/// The source of a product's statement.
pub fn of(product: &'static [Clause], sql: &str) -> Option<&'static str> {
    let fits = |clause: &&'static Clause| {
        let mut rest = sql;
        sql.starts_with(clause.parts[0])
            && clause.parts.iter().all(|part| match rest.find(part) {
                Some(at) => {
                    rest = &rest[at + part.len()..];
                    true
                }
                None => false,
            })
    };
    product.iter().chain(&COMMON).find(fits).map(|clause| clause.rests_on)
}

/// Whether a statement may start a job, which continues after it was accepted.
pub fn may_run_on(sql: &str) -> bool {
    let defines = |rest: &str| !rest.split_once("` ").is_some_and(|(_, what)| what.starts_with("COMMENT "));
    let relays = sql.contains("` DISTRIBUTED BY ") && !sql.contains(" MODIFY DISTRIBUTION ");
    sql.starts_with("ALTER TABLE ")
        && (sql.contains(" ADD COLUMN ")
            || sql.contains(" DROP COLUMN ")
            || sql.split_once(" MODIFY COLUMN `").is_some_and(|(_, rest)| defines(rest))
            || relays)
}
