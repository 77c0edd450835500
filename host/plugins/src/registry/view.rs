//! A snapshot of one plugin: its generations and the pointers to them. Plain data with the rules that concern
//! a single plugin; the registry handles calls and changes.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::errors::{RegistryError, conflict};
use crate::family::PluginId;
use crate::generation::Generation;
use crate::log::now_ms;
use crate::origin::Origin;
use crate::prepared::Description;

/// The fewest digits of a digest prefix.
const DIGEST_MIN: usize = 8;

/// The canary generation and its share of calls.
#[derive(Clone)]
pub struct Canary {
    /// The generation.
    pub generation: Arc<Generation>,
    /// The share of keys that it serves, percent, 1 to 99.
    pub percent: u8,
}

/// Why a plugin is out of service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantine {
    /// The reason, for people.
    pub reason: String,
    /// Whether consecutive failures caused it; activating another generation then ends it.
    pub by_failures: bool,
}

/// A snapshot of one plugin.
#[derive(Clone, Default)]
pub struct PluginView {
    /// The active generation.
    pub active: Option<Arc<Generation>>,
    /// When it became active, milliseconds since 1970 UTC.
    pub activated_at_ms: Option<i64>,
    /// The canary generation.
    pub canary: Option<Canary>,
    /// Earlier active generations, latest last.
    pub history: Vec<Arc<Generation>>,
    /// All generations, in the order of staging.
    pub generations: Vec<Arc<Generation>>,
    /// The quarantine, if the plugin is in one.
    pub quarantine: Option<Quarantine>,
}

/// A plugin's pointers in the form in which they are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pointers {
    /// Digest of the active generation.
    pub active: Option<String>,
    /// When it became active, milliseconds since 1970 UTC.
    pub activated_at_ms: Option<i64>,
    /// Digests of earlier active generations, latest last.
    pub history: Vec<String>,
    /// Digest of the canary generation, and its share in percent.
    pub canary: Option<(String, u8)>,
    /// The quarantine, if the plugin is in one.
    pub quarantine: Option<Quarantine>,
}

impl std::fmt::Debug for PluginView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digest = |generation: &Arc<Generation>| generation.digest.clone();
        f.debug_struct("PluginView")
            .field("state", &self.state())
            .field("active", &self.active.as_ref().map(digest))
            .field("generations", &self.generations.iter().map(digest).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl PluginView {
    /// The generations that are called: none in a quarantine.
    pub(super) fn in_service(&self) -> impl Iterator<Item = &Arc<Generation>> {
        self.answering().filter(|_| self.quarantine.is_none())
    }

    /// The active and the canary generation.
    pub fn answering(&self) -> impl Iterator<Item = &Arc<Generation>> {
        self.active.iter().chain(self.canary.iter().map(|canary| &canary.generation))
    }

    /// A generation by its digest, or by a prefix of eight digits at least.
    pub fn generation(&self, id: &PluginId, digest: &str) -> Result<Arc<Generation>, RegistryError> {
        let digest = digest.to_ascii_lowercase();
        if digest.len() < DIGEST_MIN || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let message = format!("{digest:?} is not a digest: give at least {DIGEST_MIN} of its hex digits");
            return Err(conflict("digest_invalid", message));
        }
        let mut found = self.generations.iter().filter(|g| g.digest.starts_with(&digest));
        match (found.next(), found.next()) {
            (Some(generation), None) => Ok(generation.clone()),
            (Some(_), Some(_)) => {
                Err(conflict("digest_ambiguous", format!("{digest} begins several digests; give more of it")))
            }
            (None, _) => {
                let known: Vec<&str> = self.generations.iter().map(|g| &g.digest[..DIGEST_MIN]).collect();
                let message =
                    format!("the plugin {id} has no generation {digest}; it has {}", known.join(", "));
                Err(RegistryError::NotFound(message))
            }
        }
    }

    /// Whether a generation has exactly this digest.
    pub fn has(&self, digest: &str) -> bool {
        self.generations.iter().any(|generation| &*generation.digest == digest)
    }

    /// The plugin without this generation.
    pub fn without(&self, digest: &str) -> PluginView {
        let mut left = self.clone();
        left.active = left.active.take().filter(|g| &*g.digest != digest);
        left.canary = left.canary.take().filter(|canary| &*canary.generation.digest != digest);
        left.generations.retain(|g| &*g.digest != digest);
        left.history.retain(|g| &*g.digest != digest);
        left
    }

    pub(super) fn removable(&self, id: &PluginId, digest: &str) -> Result<Arc<Generation>, RegistryError> {
        let generation = self.generation(id, digest)?;
        if self.quarantine.is_none() && self.answering().any(|g| g.digest == generation.digest) {
            return Err(conflict(
                "generation_active",
                "it is active; activate another generation first, or quarantine the plugin",
            ));
        }
        if generation.running() > 0 {
            return Err(conflict("generation_in_use", "calls are still running on it; try again"));
        }
        if generation.origin == Origin::Bundled {
            return Err(conflict(
                "generation_bundled",
                "it is bundled with the server and cannot be removed",
            ));
        }
        Ok(generation)
    }

    /// `quarantined`, `canary`, `active` or `staged`.
    pub fn state(&self) -> &'static str {
        match self {
            PluginView { quarantine: Some(_), .. } => "quarantined",
            PluginView { canary: Some(_), .. } => "canary",
            PluginView { active: Some(_), .. } => "active",
            _ => "staged",
        }
    }

    /// The description of the active generation, or else of the latest.
    pub fn description(&self) -> Option<&Description> {
        self.active.as_ref().or(self.generations.last()).map(|generation| &generation.description)
    }

    /// Makes a generation the active one; with `canary_percent`, for that share of keys only. Keeps
    /// `history_max` earlier ones for a rollback.
    pub fn activate(
        &mut self,
        id: &PluginId,
        digest: &str,
        canary_percent: Option<u8>,
        history_max: usize,
    ) -> Result<(), RegistryError> {
        let generation = self.generation(id, digest)?;
        let is_active = self.active.as_ref().is_some_and(|active| active.digest == generation.digest);
        match canary_percent {
            Some(percent @ 1..=99) => {
                if self.active.is_none() {
                    return Err(conflict("no_active_generation", "a canary needs an active generation"));
                }
                if is_active {
                    return Err(conflict("already_active", "this generation is already active"));
                }
                self.canary = Some(Canary { generation, percent });
            }
            Some(percent) => {
                return Err(conflict(
                    "canary_percent_invalid",
                    format!("canaryPercent is {percent}; it must be from 1 to 99"),
                ));
            }
            None => {
                self.canary = None;
                if !is_active {
                    self.replace_active(generation, history_max);
                }
            }
        }
        Ok(())
    }

    /// Ends the canary, or else activates the previous generation.
    pub fn roll_back(&mut self, id: &PluginId) -> Result<(), RegistryError> {
        if self.canary.take().is_some() {
            return Ok(());
        }
        let before = self
            .history
            .pop()
            .ok_or_else(|| conflict("no_previous_generation", format!("{id} has no previous generation")))?;
        self.active = Some(before);
        self.activated_at_ms = Some(now_ms());
        self.lift_if_by_failures();
        Ok(())
    }

    /// Puts the plugin into quarantine.
    pub fn put_in_quarantine(&mut self, reason: &str) {
        self.quarantine = Some(Quarantine { reason: reason.to_owned(), by_failures: false });
    }

    /// Releases the plugin from quarantine.
    pub fn release(&mut self, id: &PluginId) -> Result<(), RegistryError> {
        match self.quarantine.take() {
            Some(_) => Ok(()),
            None => Err(conflict("not_quarantined", format!("the plugin {id} is not quarantined"))),
        }
    }

    /// Makes another generation the active one and keeps the previous one for a rollback.
    fn replace_active(&mut self, generation: Arc<Generation>, history_max: usize) {
        self.history.retain(|g| g.digest != generation.digest);
        if let Some(before) = self.active.replace(generation) {
            self.history.push(before);
        }
        let over = self.history.len().saturating_sub(history_max);
        self.history.drain(..over);
        self.activated_at_ms = Some(now_ms());
        self.lift_if_by_failures();
    }

    /// Ends a quarantine that consecutive failures caused.
    fn lift_if_by_failures(&mut self) {
        if self.quarantine.as_ref().is_some_and(|quarantine| quarantine.by_failures) {
            self.quarantine = None;
        }
    }

    /// The generation that serves a key: the canary for its share of keys, else the active one.
    pub(super) fn answering_for(&self, key: &str) -> Option<&Arc<Generation>> {
        match &self.canary {
            Some(canary) if bucket(key) < canary.percent => Some(&canary.generation),
            _ => self.active.as_ref(),
        }
    }
}

/// The bucket of a key, 0 to 99, the same in every process.
fn bucket(key: &str) -> u8 {
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    key.hash(&mut hasher);
    (hasher.finish() % 100) as u8
}

struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        // The low bits of FNV are weak, and the share is taken from them.
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_keys_is_about_its_percentage() {
        let share = (0..10_000).filter(|n| bucket(&format!("workflow-{n}")) < 20).count();
        assert!((1_700..2_300).contains(&share), "{share}");
        assert_eq!(bucket("a"), bucket("a"));
    }
}
