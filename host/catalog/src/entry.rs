//! The index entry of one table.

/// The index entry of a table. Sizes in bytes, times in milliseconds since 1970 UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: i64,
    pub cluster_id: Option<i64>,
    pub db_name: Box<str>,
    pub table_name: Box<str>,
    pub table_comment: Option<Box<str>>,
    pub layer: Option<Box<str>>,
    pub business_domain: Option<Box<str>>,
    pub data_domain: Option<Box<str>>,
    pub owner: Option<Box<str>>,
    pub tags: Box<[Box<str>]>,
    pub is_deprecated: bool,
    pub is_physical: bool,
    /// Its database differs from the catalogue.
    pub has_drift: bool,
    pub row_count: Option<i64>,
    pub data_size: Option<i64>,
    pub index_size: Option<i64>,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn entry(id: i64, db_name: &str, table_name: &str) -> Entry {
        Entry {
            id,
            cluster_id: Some(1),
            db_name: db_name.into(),
            table_name: table_name.into(),
            table_comment: None,
            layer: None,
            business_domain: None,
            data_domain: None,
            owner: None,
            tags: Box::default(),
            is_deprecated: false,
            is_physical: false,
            has_drift: false,
            row_count: None,
            data_size: None,
            index_size: None,
            created_at_ms: 0,
            updated_at_ms: 0,
        }
    }
}
