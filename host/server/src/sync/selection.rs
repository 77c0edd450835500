//! Selects the databases of a server to sync.
//!
//! A server of the MySQL protocol may hold many others' databases: a database in the address selects only
//! that one. The option `databases` overrides it. Databases with tables in the catalogue are always checked.

use std::collections::HashSet;

use lakeport_sql::Transport;

use super::store::Errors;
use crate::datasources::Datasource;
use crate::datasources::ServerAddress;
use crate::datasources::{ALL_DATABASES, databases_named};

/// The selection for one data source.
#[derive(Debug)]
pub enum Choice {
    All,
    Some {
        /// All must exist.
        named: Vec<String>,
        /// Databases with tables in the catalogue.
        known: HashSet<String>,
    },
}

impl Choice {
    pub fn of(source: &Datasource, transport: Transport, known: HashSet<String>) -> Choice {
        match databases_named(&source.options) {
            Some(named) if named.iter().any(|name| name == ALL_DATABASES) => Choice::All,
            Some(named) => Choice::Some { named, known },
            None if transport != Transport::MySql => Choice::All,
            None => match ServerAddress::parse(&source.url).ok().and_then(|(address, _)| address.database) {
                Some(database) => Choice::Some { named: vec![database], known },
                None => Choice::All,
            },
        }
    }

    /// The selected databases of the server; a missing named one is an error.
    pub fn among(&self, all: Vec<String>, errors: &mut Errors) -> Vec<String> {
        let Choice::Some { named, known } = self else { return all };
        // Some servers ignore the case of these names.
        let is_named = |database: &str| named.iter().any(|name| name.eq_ignore_ascii_case(database));
        for name in named.iter().filter(|name| !all.iter().any(|there| there.eq_ignore_ascii_case(name))) {
            errors.add(None, &format!("there is no database {name}, or none that this account sees"));
        }
        all.into_iter().filter(|database| is_named(database) || known.contains(database)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 3] = ["shop", "bank", "old"];

    fn chosen(url: &str, options: &str, known: &[&str]) -> Vec<String> {
        let source = Datasource {
            id: 1,
            name: "a".to_owned(),
            kind: "mysql".to_owned(),
            url: url.to_owned(),
            read_url: None,
            secret: None,
            read_secret: None,
            options: options.to_owned(),
            is_default: false,
            sync_cron: None,
            next_sync_at_ms: None,
            last_sync_time_ms: None,
            created_at_ms: 0,
            updated_at_ms: 0,
        };
        let transport = if url.starts_with("mysql") { Transport::MySql } else { Transport::Postgres };
        let known = known.iter().map(|&name| name.to_owned()).collect();
        let all = ALL.map(str::to_owned).to_vec();
        Choice::of(&source, transport, known).among(all, &mut Errors::default())
    }

    #[test]
    fn the_urls_database_and_catalogued_are_selected() {
        assert_eq!(chosen("mysql://h", "{}", &[]), ALL);
        assert_eq!(chosen("mysql://h/shop", "{}", &[]), ["shop"]);
        assert_eq!(chosen("mysql://h/Shop", "{}", &["old"]), ["shop", "old"]);
        assert_eq!(chosen("mysql://h/gone", "{}", &[]), [] as [&str; 0]);
        assert_eq!(chosen("postgres://h/shop", "{}", &[]), ALL, "those are its schemas");
    }

    #[test]
    fn the_option_says_otherwise() {
        assert_eq!(chosen("mysql://h/shop", r#"{"databases": ["*"]}"#, &[]), ALL);
        assert_eq!(chosen("mysql://h/shop", r#"{"databases": ["bank", "old"]}"#, &[]), ["bank", "old"]);
        assert_eq!(chosen("postgres://h/x", r#"{"databases": ["bank"]}"#, &["shop"]), ["shop", "bank"]);
    }
}
