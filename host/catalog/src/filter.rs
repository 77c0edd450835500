//! Which tables a page or a search is about.

/// Which tables. Those in the recycle bin never.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter<'f> {
    /// Part of the database's or the table's name, or of both with a point between them, case ignored; empty: any.
    pub keyword: &'f str,
    pub layer: Option<&'f str>,
    pub business_domain: Option<&'f str>,
    pub data_domain: Option<&'f str>,
    pub owner: Option<&'f str>,
    pub tag: Option<&'f str>,
    pub cluster_id: Option<i64>,
    /// None of this data source.
    pub but_cluster_id: Option<i64>,
}
