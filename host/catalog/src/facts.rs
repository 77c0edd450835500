//! Bitmaps of the index's places by value, so that a filter reads no entries.

use std::collections::HashMap;

use roaring::RoaringBitmap;

use super::entry::Entry;
use super::filter::Filter;

/// A value that lists can filter by.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Fact {
    Cluster(Option<i64>),
    Drift,
    Layer(Box<str>),
    BusinessDomain(Box<str>),
    DataDomain(Box<str>),
    Owner(Box<str>),
    Tag(Box<str>),
}

impl Fact {
    /// Its value, as a filter takes it.
    pub fn text(&self) -> String {
        match self {
            Fact::Cluster(id) => id.map(|id| id.to_string()).unwrap_or_default(),
            Fact::Drift => true.to_string(),
            Fact::Layer(text)
            | Fact::BusinessDomain(text)
            | Fact::DataDomain(text)
            | Fact::Owner(text)
            | Fact::Tag(text) => text.to_string(),
        }
    }

    fn of(entry: &Entry) -> Vec<Fact> {
        let texts = [
            entry.layer.clone().map(Fact::Layer),
            entry.business_domain.clone().map(Fact::BusinessDomain),
            entry.data_domain.clone().map(Fact::DataDomain),
            entry.owner.clone().map(Fact::Owner),
        ];
        let tags = entry.tags.iter().cloned().map(Fact::Tag);
        let drift = entry.has_drift.then_some(Fact::Drift);
        let first = [Fact::Cluster(entry.cluster_id)].into_iter().chain(drift);
        first.chain(texts.into_iter().flatten()).chain(tags).collect()
    }

    fn wanted_by(filter: &Filter<'_>) -> impl Iterator<Item = Fact> {
        let facts = [
            filter.layer.map(|layer| Fact::Layer(layer.into())),
            filter.business_domain.map(|domain| Fact::BusinessDomain(domain.into())),
            filter.data_domain.map(|domain| Fact::DataDomain(domain.into())),
            filter.owner.map(|owner| Fact::Owner(owner.into())),
            filter.tag.map(|tag| Fact::Tag(tag.into())),
            filter.cluster_id.map(|id| Fact::Cluster(Some(id))),
            filter.has_drift.filter(|has| *has).map(|_| Fact::Drift),
        ];
        facts.into_iter().flatten()
    }
}

/// The places by fact; tables in the recycle bin have none.
#[derive(Default)]
pub(super) struct Facts {
    listed: RoaringBitmap,
    /// A fact without places is removed.
    places: HashMap<Fact, RoaringBitmap>,
}

impl Facts {
    pub fn put(&mut self, place: u32, entry: &Entry) {
        if entry.is_deprecated {
            return;
        }
        self.listed.insert(place);
        for fact in Fact::of(entry) {
            self.places.entry(fact).or_default().insert(place);
        }
    }

    pub fn remove(&mut self, place: u32, entry: &Entry) {
        self.listed.remove(place);
        for fact in Fact::of(entry) {
            let Some(places) = self.places.get_mut(&fact) else { continue };
            places.remove(place);
            if places.is_empty() {
                self.places.remove(&fact);
            }
        }
    }

    /// The places of the wanted data sources; `is_wanted` is called once per data source.
    pub fn of_clusters(&self, is_wanted: impl Fn(Option<i64>) -> bool) -> RoaringBitmap {
        let mut all = RoaringBitmap::new();
        for (fact, places) in &self.places {
            if matches!(fact, Fact::Cluster(id) if is_wanted(*id)) {
                all |= places;
            }
        }
        all
    }

    /// The facts that are wanted, each with how many of these places have it.
    pub fn counts<'s>(
        &'s self,
        places: &'s RoaringBitmap,
        is_wanted: impl Fn(&Fact) -> bool + 's,
    ) -> impl Iterator<Item = (&'s Fact, u64)> + 's {
        let wanted = self.places.iter().filter(move |(fact, _)| is_wanted(fact));
        wanted.map(|(fact, of)| (fact, of.intersection_len(places)))
    }

    /// The places that match the filter, apart from its keyword.
    pub fn fitting(&self, filter: &Filter<'_>) -> RoaringBitmap {
        let mut fitting = self.listed.clone();
        for fact in Fact::wanted_by(filter) {
            match self.places.get(&fact) {
                Some(places) => fitting &= places,
                None => return RoaringBitmap::new(),
            }
        }
        let but = filter.but_cluster_id.and_then(|id| self.places.get(&Fact::Cluster(Some(id))));
        if let Some(places) = but {
            fitting -= places;
        }
        if filter.has_drift == Some(false)
            && let Some(places) = self.places.get(&Fact::Drift)
        {
            fitting -= places;
        }
        fitting
    }
}
