//! One key: 32 random bytes, from which one sub-key encrypts and another computes digests. No I/O.
//!
//! A ciphertext begins with a version and the key's id, which tells the key to open it:
//! `version (1) · key id (8) · nonce (12) · ciphertext and tag`.

use anyhow::{Context, bail, ensure};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::Secret;

pub const KEY_BYTES: usize = 32;
const VERSION: u8 = 1;
const ID_BYTES: usize = 8;
/// Version and key id: the same for all ciphertexts of a key.
pub const PREFIX_BYTES: usize = 1 + ID_BYTES;
const HEAD_BYTES: usize = PREFIX_BYTES + NONCE_LEN;

/// The first bytes of the key's SHA-256. Not secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyId([u8; ID_BYTES]);

impl KeyId {
    /// The key that encrypted these bytes; `None` if they have another format.
    pub fn of_sealed(sealed: &[u8]) -> Option<KeyId> {
        let (version, rest) = sealed.split_first()?;
        (*version == VERSION && sealed.len() >= HEAD_BYTES)
            .then(|| KeyId(rest[..ID_BYTES].try_into().expect("the length was checked")))
    }

    /// The prefix of all ciphertexts of this key.
    pub fn prefix(self) -> Vec<u8> {
        [&[VERSION], &self.0[..]].concat()
    }
}

impl std::fmt::Display for KeyId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&hex::encode(self.0))
    }
}

pub struct Key {
    pub id: KeyId,
    /// When it was created; 1970 if unknown.
    pub made_at_ms: i64,
    raw: Zeroizing<[u8; KEY_BYTES]>,
    sealing: LessSafeKey,
    /// For what browsers keep: it is no secret of the store.
    sessions: LessSafeKey,
    digesting: hmac::Key,
}

impl Key {
    pub fn new(raw: Zeroizing<[u8; KEY_BYTES]>, made_at_ms: i64) -> Key {
        let of_hash = Sha256::digest(*raw);
        let id = KeyId(of_hash[..ID_BYTES].try_into().expect("a SHA-256 is longer"));
        let root = Salt::new(HKDF_SHA256, b"lakeport store of secrets").extract(&*raw);
        let sealing = root.expand(&[b"encrypt"], &AES_256_GCM).expect("the length is the algorithm's own");
        let sessions = root.expand(&[b"session"], &AES_256_GCM).expect("the length is the algorithm's own");
        let digesting =
            root.expand(&[b"digest"], hmac::HMAC_SHA256).expect("the length is the algorithm's own");
        let [sealing, sessions] = [sealing, sessions].map(|key| LessSafeKey::new(UnboundKey::from(key)));
        Key { id, made_at_ms, raw, sealing, sessions, digesting: hmac::Key::from(digesting) }
    }

    pub fn random(made_at_ms: i64) -> Key {
        let mut raw = Zeroizing::new([0; KEY_BYTES]);
        SystemRandom::new().fill(&mut *raw).expect("the system gives random bytes");
        Key::new(raw, made_at_ms)
    }

    /// As [`parse`] reads it.
    pub fn text(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(*self.raw))
    }

    /// Binds `context`: the ciphertext opens only under the same one.
    pub fn seal(&self, context: &str, plain: &[u8]) -> Vec<u8> {
        self.seal_with(&self.sealing, context, plain)
    }

    /// The same, for what a browser keeps.
    pub fn seal_session(&self, context: &str, plain: &[u8]) -> Vec<u8> {
        self.seal_with(&self.sessions, context, plain)
    }

    fn seal_with(&self, key: &LessSafeKey, context: &str, plain: &[u8]) -> Vec<u8> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).expect("the system gives random bytes");
        let mut sealed = Vec::with_capacity(HEAD_BYTES + plain.len() + AES_256_GCM.tag_len());
        sealed.extend_from_slice(&self.id.prefix());
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(plain);
        let tag = key
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(context.as_bytes()),
                &mut sealed[HEAD_BYTES..],
            )
            .expect("a secret is far shorter than the cipher's limit");
        sealed.extend_from_slice(tag.as_ref());
        sealed
    }

    /// `None` if the bytes or the context differ from the sealed ones. `sealed` must be this key's, by its
    /// [`KeyId`].
    pub fn open(&self, context: &str, sealed: &[u8]) -> Option<Secret> {
        open_with(&self.sealing, context, sealed)
    }

    /// The same, of what a browser kept.
    pub fn open_session(&self, context: &str, sealed: &[u8]) -> Option<Secret> {
        open_with(&self.sessions, context, sealed)
    }

    /// HMAC-SHA-256 in hexadecimal digits.
    pub fn digest(&self, bytes: &[u8]) -> String {
        hex::encode(hmac::sign(&self.digesting, bytes))
    }

    /// In constant time.
    pub fn is_digest_of(&self, digest: &[u8], bytes: &[u8]) -> bool {
        hmac::verify(&self.digesting, bytes, digest).is_ok()
    }
}

fn open_with(key: &LessSafeKey, context: &str, sealed: &[u8]) -> Option<Secret> {
    let nonce = Nonce::try_assume_unique_for_key(sealed.get(PREFIX_BYTES..HEAD_BYTES)?).ok()?;
    let mut bytes = Zeroizing::new(sealed[HEAD_BYTES..].to_vec());
    let plain = key.open_in_place(nonce, Aad::from(context.as_bytes()), &mut bytes).ok()?;
    Some(Secret::from(plain.to_vec()))
}

/// 32 bytes in base64 (padded or not, either alphabet) or in hexadecimal digits. The error shows no part of
/// the text.
pub fn parse(text: &str) -> anyhow::Result<Zeroizing<[u8; KEY_BYTES]>> {
    let text = text.trim();
    let decoded = match text.len() {
        0 => bail!("is empty"),
        64 => hex::decode(text).context("has 64 characters that are not hexadecimal digits")?,
        _ => decode_base64(text).context("is neither base64 nor hexadecimal digits")?,
    };
    let decoded = Zeroizing::new(decoded);
    let count = decoded.len();
    let raw = <[u8; KEY_BYTES]>::try_from(decoded.as_slice()).ok();
    let raw = Zeroizing::new(raw.with_context(|| format!("has {count} bytes, not {KEY_BYTES}"))?);
    ensure!(raw.iter().any(|byte| *byte != raw[0]), "is one byte over and over, not a random key");
    Ok(raw)
}

fn decode_base64(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    const PADDED_OR_NOT: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let url_safe = text.contains(['-', '_']);
    let alphabet = if url_safe { alphabet::URL_SAFE } else { alphabet::STANDARD };
    GeneralPurpose::new(&alphabet, PADDED_OR_NOT).decode(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_in_either_writing() {
        let key = Key::random(0);
        let base64 = key.text();
        let url_safe = base64.replace('+', "-").replace('/', "_");
        for text in [base64.as_str(), base64.trim_end_matches('='), &url_safe, &hex::encode(*key.raw)] {
            assert!(Key::new(parse(text).unwrap(), 0).id == key.id, "{text}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused_and_not_repeated() {
        let short = STANDARD.encode([7; 16]);
        let zeros = STANDARD.encode([0; KEY_BYTES]);
        for (text, why) in
            [("", "empty"), ("geheim!", "neither"), (&short, "16 bytes"), (&zeros, "over and over")]
        {
            let message = format!("{:#}", parse(text).unwrap_err());
            assert!(message.contains(why), "{message}");
            assert!(text.is_empty() || !message.contains(text), "{message}");
        }
    }

    #[test]
    fn what_was_cut_or_changed_does_not_open() {
        let key = Key::random(0);
        let sealed = key.seal("a/1/b", b"secret");
        assert_eq!(key.open("a/1/b", &sealed).unwrap().bytes(), b"secret");
        for length in 0..sealed.len() {
            assert!(key.open("a/1/b", &sealed[..length]).is_none(), "{length}");
        }
        for place in PREFIX_BYTES..sealed.len() {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert!(key.open("a/1/b", &changed).is_none(), "{place}");
        }
    }

    #[test]
    fn the_same_text_is_never_sealed_the_same_way_twice() {
        let key = Key::random(0);
        assert_ne!(key.seal("c", b"x"), key.seal("c", b"x"));
    }
}
