//! The parsers for a dialect: the first choice, and the fallbacks.

use sqlparser::dialect::{
    BigQueryDialect, ClickHouseDialect, DatabricksDialect, Dialect, DuckDbDialect, GenericDialect,
    HiveDialect, MsSqlDialect, MySqlDialect, OracleDialect, PostgreSqlDialect, RedshiftSqlDialect,
    SQLiteDialect, SnowflakeDialect, TeradataDialect,
};

/// How a dialect's text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    parser: Syntax,
    /// How names are compared.
    pub case: Case,
}

/// The grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Syntax {
    Generic,
    Sqlite,
    Postgres,
    MySql,
    Hive,
    Spark,
    BigQuery,
    Snowflake,
    Redshift,
    TSql,
    Oracle,
    ClickHouse,
    DuckDb,
    Teradata,
}

/// How names are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    /// Case-insensitive.
    Ignored,
    /// Case-sensitive.
    Kept,
    /// Case-insensitive unless they are quoted.
    KeptInQuotes,
}

const fn reading(parser: Syntax, case: Case) -> Reading {
    Reading { parser, case }
}

impl Reading {
    pub const ANSI: Reading = reading(Syntax::Generic, Case::KeptInQuotes);
    pub const TSQL: Reading = reading(Syntax::TSql, Case::Ignored);

    /// By the name of a plugin's kind or of a dialect.
    pub fn named(name: &str) -> Option<Reading> {
        let (parser, case) = match name.to_ascii_lowercase().as_str() {
            "sqlite" => (Syntax::Sqlite, Case::Ignored),
            "postgres" | "postgresql" | "greenplum" => (Syntax::Postgres, Case::KeptInQuotes),
            "mysql" | "mariadb" | "doris" | "starrocks" => (Syntax::MySql, Case::Kept),
            "ansi" => return Some(Reading::ANSI),
            "athena" | "trino" | "presto" => (Syntax::Generic, Case::Ignored),
            // Spark's parser reads Hive's literals correctly; the Hive parser does not.
            "hive" | "impala" | "sparksql" | "spark" | "databricks" => (Syntax::Spark, Case::Ignored),
            "bigquery" => (Syntax::BigQuery, Case::Kept),
            "snowflake" => (Syntax::Snowflake, Case::KeptInQuotes),
            "redshift" => (Syntax::Redshift, Case::Ignored),
            "tsql" | "mssql" => return Some(Reading::TSQL),
            "oracle" => (Syntax::Oracle, Case::KeptInQuotes),
            "clickhouse" => (Syntax::ClickHouse, Case::Kept),
            "duckdb" => (Syntax::DuckDb, Case::Ignored),
            "teradata" => (Syntax::Teradata, Case::Ignored),
            _ => return None,
        };
        Some(reading(parser, case))
    }

    /// The parser's rules.
    pub fn dialect(self) -> &'static dyn Dialect {
        match self.parser {
            Syntax::Generic => &GenericDialect {},
            Syntax::Sqlite => &SQLiteDialect {},
            Syntax::Postgres => &PostgreSqlDialect {},
            Syntax::MySql => &MySqlDialect {},
            Syntax::Hive => &HiveDialect {},
            Syntax::Spark => &DatabricksDialect {},
            Syntax::BigQuery => &BigQueryDialect {},
            Syntax::Snowflake => &SnowflakeDialect {},
            Syntax::Redshift => &RedshiftSqlDialect {},
            Syntax::TSql => &MsSqlDialect {},
            Syntax::Oracle => &OracleDialect {},
            Syntax::ClickHouse => &ClickHouseDialect {},
            Syntax::DuckDb => &DuckDbDialect {},
            Syntax::Teradata => &TeradataDialect {},
        }
    }

    /// Related dialects whose parsers are tried when its own fails.
    pub fn relatives(self) -> impl Iterator<Item = Reading> {
        let others: &[Syntax] = match self.parser {
            Syntax::Generic => &[Syntax::Postgres, Syntax::MySql],
            Syntax::Spark => &[Syntax::Hive, Syntax::Generic],
            Syntax::MySql => &[Syntax::Generic, Syntax::Hive],
            _ => &[Syntax::Generic],
        };
        others.iter().map(move |parser| Reading { parser: *parser, ..self })
    }

    /// Whether common table expressions may be recursive without `RECURSIVE`.
    pub fn recurses_unasked(self) -> bool {
        matches!(self.parser, Syntax::Sqlite | Syntax::TSql | Syntax::Oracle | Syntax::Teradata)
    }

    /// Whether `FROM orders, orders.items` unnests a column.
    pub fn unfolds_columns(self) -> bool {
        matches!(self.parser, Syntax::BigQuery | Syntax::Redshift)
    }

    /// Whether ``FROM json.`path/to/file` `` reads a file.
    pub fn reads_files(self) -> bool {
        self.parser == Syntax::Spark
    }

    /// Whether `SELECT … INTO` sets a variable instead of creating a table.
    pub fn selects_into_variables(self) -> bool {
        matches!(self.parser, Syntax::MySql | Syntax::Oracle)
    }
}
