//! How many tables have each value of a filter.

use roaring::RoaringBitmap;

use super::facts::Fact;
use super::filter::Filter;
use super::index::Index;

/// One value, and how many tables have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FacetValue {
    /// Of a data source its id, of drift `true`.
    pub value: String,
    pub count: u64,
}

/// The values of one filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facet {
    /// The most frequent first, then by value.
    pub values: Vec<FacetValue>,
    /// How many values there are.
    pub total: usize,
}

/// The values of all filters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facets {
    pub cluster_id: Facet,
    pub layer: Facet,
    pub business_domain: Facet,
    pub data_domain: Facet,
    pub owner: Facet,
    pub tag: Facet,
    pub has_drift: Facet,
}

impl Index {
    /// The values that the tables have which match the filter; of each part of the filter those that its other parts
    /// leave, so that another value can be chosen instead. At most `most` of each.
    pub fn facets(&self, filter: &Filter<'_>, most: usize) -> Facets {
        let mut named = None;
        if !filter.keyword.is_empty() {
            let mut places = RoaringBitmap::new();
            self.names.matching(filter.keyword, |place| _ = places.insert(place));
            named = Some(places);
        }
        let of = |others: Filter<'_>, is_wanted: fn(&Fact) -> bool| {
            let mut fitting = self.facts.fitting(&others);
            if let Some(named) = &named {
                fitting &= named;
            }
            facet(self.facts.counts(&fitting, is_wanted), most)
        };
        Facets {
            cluster_id: of(Filter { cluster_id: None, ..*filter }, |fact| {
                matches!(fact, Fact::Cluster(Some(_)))
            }),
            layer: of(Filter { layer: None, ..*filter }, |fact| matches!(fact, Fact::Layer(_))),
            business_domain: of(Filter { business_domain: None, ..*filter }, |fact| {
                matches!(fact, Fact::BusinessDomain(_))
            }),
            data_domain: of(Filter { data_domain: None, ..*filter }, |fact| {
                matches!(fact, Fact::DataDomain(_))
            }),
            owner: of(Filter { owner: None, ..*filter }, |fact| matches!(fact, Fact::Owner(_))),
            tag: of(Filter { tag: None, ..*filter }, |fact| matches!(fact, Fact::Tag(_))),
            has_drift: of(Filter { has_drift: None, ..*filter }, |fact| matches!(fact, Fact::Drift)),
        }
    }
}

fn facet<'f>(counts: impl Iterator<Item = (&'f Fact, u64)>, most: usize) -> Facet {
    let found = counts.filter(|(_, count)| *count > 0);
    let mut values: Vec<FacetValue> =
        found.map(|(fact, count)| FacetValue { value: fact.text(), count }).collect();
    let total = values.len();
    values.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.value.cmp(&other.value)));
    values.truncate(most);
    Facet { values, total }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::tests::entry;
    use crate::{Entry, Texts};

    fn values(facet: &Facet) -> Vec<(&str, u64)> {
        facet.values.iter().map(|one| (one.value.as_str(), one.count)).collect()
    }

    #[test]
    fn each_part_counts_under_the_others() {
        let mut index = Index::default();
        let table = |id, layer: &str, owner: &str, has_drift| Entry {
            layer: Some(layer.into()),
            owner: Some(owner.into()),
            has_drift,
            cluster_id: Some(id % 2),
            ..entry(id, "main", &format!("t{id}"))
        };
        index.put(table(1, "ODS", "ann", true), &Texts::default());
        index.put(table(2, "ODS", "bob", false), &Texts::default());
        index.put(table(3, "DWD", "ann", false), &Texts::default());
        index.put(Entry { is_deprecated: true, ..table(4, "DWD", "ann", true) }, &Texts::default());

        let all = index.facets(&Filter::default(), 10);
        assert_eq!(values(&all.layer), [("ODS", 2), ("DWD", 1)]);
        assert_eq!(values(&all.cluster_id), [("1", 2), ("0", 1)]);
        assert_eq!(values(&all.has_drift), [("true", 1)]);

        let ods = index.facets(&Filter { layer: Some("ODS"), ..Filter::default() }, 10);
        assert_eq!(values(&ods.layer), [("ODS", 2), ("DWD", 1)], "another layer can be chosen");
        assert_eq!(values(&ods.owner), [("ann", 1), ("bob", 1)]);

        let named = index.facets(&Filter { keyword: "t3", ..Filter::default() }, 10);
        assert_eq!((values(&named.layer), named.has_drift.total), (vec![("DWD", 1)], 0));

        let few = index.facets(&Filter::default(), 1);
        assert_eq!((values(&few.owner), few.owner.total), (vec![("ann", 2)], 2));
    }
}
