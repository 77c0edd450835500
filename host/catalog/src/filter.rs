//! The filter of a page or a search.

/// Selects tables. Tables in the recycle bin are never selected.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter<'f> {
    /// Part of the database's or the table's name, or of both joined by a dot, ignoring case; empty: any.
    pub keyword: &'f str,
    pub layer: Option<&'f str>,
    pub business_domain: Option<&'f str>,
    pub data_domain: Option<&'f str>,
    pub owner: Option<&'f str>,
    pub tag: Option<&'f str>,
    pub cluster_id: Option<i64>,
    /// Whether its database differs from the catalogue.
    pub has_drift: Option<bool>,
    /// Excludes this data source.
    pub but_cluster_id: Option<i64>,
}
