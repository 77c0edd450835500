//! Places for concurrent calls. Each family has a share of all; within it a plugin leaves some to the others, and a
//! configured engine leaves some to the other engines of its plugin.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::family::Family;

/// The places of one family: calls of another family never take them.
pub(crate) struct FamilyPlaces {
    family: Family,
    all: Arc<Semaphore>,
    number: usize,
}

/// The places of one plugin, for the concurrent calls of all of its generations.
pub(crate) struct PluginPlaces {
    all: Arc<Semaphore>,
    of_instance: usize,
    /// Those of the instances that have calls or wait, by name.
    instances: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// Held by a call until it ends.
pub(crate) struct Place {
    _of_instance: Option<OwnedSemaphorePermit>,
    _of_plugin: OwnedSemaphorePermit,
    _of_family: OwnedSemaphorePermit,
}

/// A family's share of all places, in sixteenths. Together they are all places, so that a call with a place
/// also finds an instance in the pool.
fn share(family: Family) -> u32 {
    match family {
        Family::Dialect => 8,
        Family::Engine => 3,
        Family::Tool => 5,
    }
}

impl FamilyPlaces {
    /// Its share of `calls_max` places.
    pub(crate) fn of(family: Family, calls_max: u32) -> FamilyPlaces {
        let number = (calls_max * share(family) / 16).max(1) as usize;
        FamilyPlaces { family, all: Arc::new(Semaphore::new(number)), number }
    }

    /// Those of one of its plugins: a quarter is left to the other plugins.
    pub(crate) fn of_plugin(&self) -> PluginPlaces {
        let number = (self.number * 3 / 4).max(1);
        // Engines may be slow for long, one of them while another of the same plugin is quick.
        let of_instance = if self.family == Family::Engine { (number * 2 / 3).max(1) } else { number };
        PluginPlaces::new(number, of_instance)
    }

    /// A place for one more call of a plugin, for this instance.
    pub(crate) async fn take(&self, plugin: &PluginPlaces, instance: Option<&str>) -> Option<Place> {
        // A call that waits for a narrower place holds no wider one.
        let of_instance = match instance {
            Some(name) => Some(plugin.of_instance(name).acquire_owned().await.ok()?),
            None => None,
        };
        let of_plugin = Arc::clone(&plugin.all).acquire_owned().await.ok()?;
        let of_family = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(Place { _of_instance: of_instance, _of_plugin: of_plugin, _of_family: of_family })
    }
}

impl PluginPlaces {
    pub(crate) fn new(number: usize, of_instance: usize) -> PluginPlaces {
        PluginPlaces { all: Arc::new(Semaphore::new(number)), of_instance, instances: Mutex::default() }
    }

    fn of_instance(&self, name: &str) -> Arc<Semaphore> {
        let mut instances = self.instances.lock();
        // A permit holds its semaphore.
        instances.retain(|_, places| Arc::strong_count(places) > 1);
        let places = instances.entry(name.to_owned());
        Arc::clone(places.or_insert_with(|| Arc::new(Semaphore::new(self.of_instance))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_families_share_all_places() {
        for calls_max in [16, 64, 160] {
            let families = Family::ALL.map(|family| FamilyPlaces::of(family, calls_max));
            let all: usize = families.iter().map(|places| places.number).sum();
            assert_eq!(all, calls_max as usize);
            assert!(families.iter().all(|places| places.of_plugin().all.available_permits() < places.number));
        }
    }

    #[tokio::test]
    async fn an_engine_leaves_places_to_another_one_of_its_plugin() {
        let family = FamilyPlaces::of(Family::Engine, 64);
        let plugin = family.of_plugin();
        let take = |name| tokio::time::timeout(std::time::Duration::ZERO, family.take(&plugin, Some(name)));
        let mut slow = Vec::new();
        while let Ok(place) = take("slow").await {
            slow.push(place.expect("it is open"));
        }
        assert_eq!(slow.len(), 6);
        assert!(take("quick").await.is_ok());
        // Who waited in vain has left nothing behind.
        assert_eq!((plugin.all.available_permits(), family.all.available_permits()), (3, 6));
        slow.clear();
        assert!(take("slow").await.is_ok());
        assert!(take("other").await.is_ok());
        assert_eq!(plugin.instances.lock().len(), 1, "those without calls are dropped");
    }
}
