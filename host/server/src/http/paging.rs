//! Pages: numbered from 1, of 1 to 500 records.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Detail, Error};

/// Most records of one page.
pub const PAGE_SIZE_MAX: i64 = 500;
/// A page further out is not looked for: its first record would not be counted in 64 bits' reach anyway.
const PAGE_NUM_MAX: i64 = 1_000_000_000;

/// Which page is asked for, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paging {
    pub page_num: i64,
    pub page_size: i64,
}

/// One page of records.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PageOf{T}")]
pub struct Page<T> {
    /// How many there are on all pages.
    pub total: i64,
    pub page_num: i64,
    pub page_size: i64,
    pub records: Vec<T>,
}

impl Paging {
    /// 400 names each of the two that is out of its bounds.
    pub fn of(page_num: Option<i64>, page_size: Option<i64>, default_size: i64) -> Result<Paging, Error> {
        let (page_num, page_size) = (page_num.unwrap_or(1), page_size.unwrap_or(default_size));
        let mut wrong = Vec::new();
        if !(1..=PAGE_NUM_MAX).contains(&page_num) {
            wrong.push(Detail::new("pageNum", format!("must be from 1 to {PAGE_NUM_MAX}")));
        }
        if !(1..=PAGE_SIZE_MAX).contains(&page_size) {
            wrong.push(Detail::new("pageSize", format!("must be from 1 to {PAGE_SIZE_MAX}")));
        }
        if wrong.is_empty() { Ok(Paging { page_num, page_size }) } else { Err(Error::invalid(wrong)) }
    }

    /// Records before the page.
    pub fn offset(&self) -> i64 {
        (self.page_num - 1) * self.page_size
    }

    /// The page itself.
    pub fn page<T>(&self, total: i64, records: Vec<T>) -> Page<T> {
        Page { total, page_num: self.page_num, page_size: self.page_size, records }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_out_of_bounds_is_refused_naming_each_parameter() {
        let error = Paging::of(Some(0), Some(501), 20).unwrap_err();
        let Error::Refused(refusal) = error else { panic!() };
        let fields: Vec<_> = refusal.details.iter().map(|detail| detail.field.as_str()).collect();
        assert_eq!(fields, ["pageNum", "pageSize"]);
        assert_eq!(Paging::of(None, None, 20).unwrap().offset(), 0);
        assert_eq!(Paging::of(Some(3), Some(500), 20).unwrap().offset(), 1000);
        assert!(Paging::of(Some(i64::MAX), None, 20).is_err());
    }
}
