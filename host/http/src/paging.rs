//! Pages: numbered from 1, of 1 to 500 records.

use lakeport_base::error::{Detail, Error};
use schemars::JsonSchema;
use serde::Serialize;

use super::form::Number;

/// The most records of a page.
pub const PAGE_SIZE_MAX: i64 = 500;
/// The most bytes of a page's records in the store, for large records.
pub const PAGE_MAX_BYTES: i64 = 16 * 1024 * 1024;
/// The last page; it keeps the offset within 64 bits.
const PAGE_NUM_MAX: i64 = 1_000_000_000;

/// A page's number in a query.
pub type PageNum = Number<1, PAGE_NUM_MAX>;
/// A page's size in a query.
pub type PageSize = Number<1, PAGE_SIZE_MAX>;

/// A checked request for a page.
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
    /// The number of records on all pages.
    pub total: i64,
    pub page_num: i64,
    pub page_size: i64,
    pub records: Vec<T>,
}

impl Paging {
    /// 400 names each parameter that is out of bounds.
    pub fn of(
        page_num: Option<impl Into<i64>>,
        page_size: Option<impl Into<i64>>,
        default_size: i64,
    ) -> Result<Paging, Error> {
        let page_num = page_num.map_or(1, Into::into);
        let page_size = page_size.map_or(default_size, Into::into);
        let mut wrong = Vec::new();
        if !(1..=PAGE_NUM_MAX).contains(&page_num) {
            wrong.push(Detail::new("pageNum", format!("must be from 1 to {PAGE_NUM_MAX}")));
        }
        if !(1..=PAGE_SIZE_MAX).contains(&page_size) {
            wrong.push(Detail::new("pageSize", format!("must be from 1 to {PAGE_SIZE_MAX}")));
        }
        if wrong.is_empty() { Ok(Paging { page_num, page_size }) } else { Err(Error::invalid(wrong)) }
    }

    /// The number of records before the page.
    pub fn offset(&self) -> i64 {
        (self.page_num - 1) * self.page_size
    }

    /// 400 if the page's records are too large to be sent at once: `member` requested so many. `sum` and
    /// `largest` are in bytes.
    pub fn refuse_over(&self, member: &str, sum: i64, largest: i64) -> Result<(), Error> {
        if sum <= PAGE_MAX_BYTES {
            return Ok(());
        }
        let fits = (PAGE_MAX_BYTES / largest.max(1)).max(1);
        let why = format!(
            "is too large: the records of this page have {sum} bytes, the limit is {PAGE_MAX_BYTES}; use {fits}"
        );
        Err(Error::invalid(vec![Detail::new(member, why)]))
    }

    /// The page. `total` may have been counted just before the records were read, so the records take
    /// precedence.
    pub fn page<T>(&self, total: i64, records: Vec<T>) -> Page<T> {
        let end = self.offset() + records.len() as i64;
        let total = match records.len() as i64 {
            0 => total.min(end),
            count if count < self.page_size => end,
            _ => total.max(end),
        };
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
        assert_eq!(Paging::of(None::<i64>, None::<i64>, 20).unwrap().offset(), 0);
        assert_eq!(Paging::of(Some(3), Some(500), 20).unwrap().offset(), 1000);
        assert!(Paging::of(Some(i64::MAX), None::<i64>, 20).is_err());
    }

    #[test]
    fn a_total_fits_the_records_beside_it() {
        let total = |page_num, counted, records: usize| {
            Paging::of(Some(page_num), Some(10), 20).unwrap().page(counted, vec![(); records]).total
        };
        assert_eq!((total(1, 7, 8), total(1, 9, 8), total(1, 9, 10), total(2, 40, 10)), (8, 8, 10, 40));
        assert_eq!((total(1, 1, 0), total(3, 12, 0), total(2, 25, 3)), (0, 12, 13));
    }

    #[test]
    fn an_oversized_page_names_a_fitting_size() {
        let paging = Paging::of(None::<i64>, Some(500), 20).unwrap();
        assert!(paging.refuse_over("pageSize", PAGE_MAX_BYTES, PAGE_MAX_BYTES).is_ok());
        let error = paging.refuse_over("pageSize", PAGE_MAX_BYTES + 1, 1024 * 1024).unwrap_err();
        let Error::Refused(refusal) = error else { panic!() };
        assert_eq!(refusal.details[0].field, "pageSize");
        assert!(refusal.message.ends_with("use 16"), "{}", refusal.message);
    }
}
