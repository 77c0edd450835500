//! A public key of an issuer (RFC 7517), and checking a JWT's signature with it. The key's type and the
//! issuer's data decide what the key may be used for, never the JWT alone.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;

use super::jws::{Algorithm, Jws};

const P256_BYTES: usize = 32;
const P384_BYTES: usize = 48;
const ED25519_BYTES: usize = 32;
/// The first byte of an elliptic curve's point that is followed by both coordinates.
const UNCOMPRESSED: u8 = 4;

/// The published form; unknown members are ignored.
#[derive(Deserialize)]
pub struct Document {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    id: Option<String>,
    /// The only algorithm of the key, if the issuer declares one.
    algorithm: Option<String>,
    material: Material,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl PublicKey {
    /// `None` if it is not a signature key, or of an unknown type.
    pub fn from_document(document: Document) -> Option<PublicKey> {
        let for_signatures = document.usage.as_deref().is_none_or(|usage| usage == "sig")
            && document.key_ops.as_ref().is_none_or(|all| all.iter().any(|one| one == "verify"));
        let material = Material::of(&document)?;
        for_signatures.then_some(PublicKey { id: document.kid, algorithm: document.alg, material })
    }

    /// Whether the key fits the JWT: its id, if the JWT has one, and its algorithm.
    pub fn fits(&self, jws: &Jws<'_>) -> bool {
        let algorithm = jws.algorithm;
        let is_meant = jws.key_id.is_none() || jws.key_id == self.id;
        let is_agreed = self.algorithm.as_deref().is_none_or(|own| own == algorithm.as_str());
        is_meant && is_agreed && self.material.can(algorithm)
    }

    pub fn has_signed(&self, jws: &Jws<'_>) -> bool {
        self.fits(jws) && self.material.verify(jws)
    }
}

impl Material {
    fn of(document: &Document) -> Option<Material> {
        let curve = document.crv.as_deref();
        match (document.kty.as_str(), curve) {
            ("RSA", _) => Some(Material::Rsa { n: number(&document.n)?, e: number(&document.e)? }),
            ("EC", Some("P-256")) => point(document, P256_BYTES).map(Material::P256),
            ("EC", Some("P-384")) => point(document, P384_BYTES).map(Material::P384),
            ("OKP", Some("Ed25519")) => exactly(&document.x, ED25519_BYTES).map(Material::Ed25519),
            _ => None,
        }
    }

    fn can(&self, algorithm: Algorithm) -> bool {
        match algorithm {
            Algorithm::Rs256 | Algorithm::Rs384 | Algorithm::Rs512 | Algorithm::Ps256 => {
                matches!(self, Material::Rsa { .. })
            }
            Algorithm::Es256 => matches!(self, Material::P256(_)),
            Algorithm::Es384 => matches!(self, Material::P384(_)),
            Algorithm::EdDsa => matches!(self, Material::Ed25519(_)),
        }
    }

    fn verify(&self, jws: &Jws<'_>) -> bool {
        let with = |algorithm: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(algorithm, key).verify(jws.signed.as_bytes(), &jws.signature).is_ok()
        };
        match self {
            Material::Rsa { n, e } => rsa_parameters(jws.algorithm).is_some_and(|parameters| {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(parameters, jws.signed.as_bytes(), &jws.signature).is_ok()
            }),
            Material::P256(key) => with(&signature::ECDSA_P256_SHA256_FIXED, key),
            Material::P384(key) => with(&signature::ECDSA_P384_SHA384_FIXED, key),
            Material::Ed25519(key) => with(&signature::ED25519, key),
        }
    }
}

/// All of these refuse keys below 2048 bits.
fn rsa_parameters(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    match algorithm {
        Algorithm::Rs256 => Some(&signature::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::Rs384 => Some(&signature::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::Rs512 => Some(&signature::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::Ps256 => Some(&signature::RSA_PSS_2048_8192_SHA256),
        Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa => None,
    }
}

fn decode(text: &Option<String>) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.as_deref()?.trim_end_matches('=')).ok()
}

/// Some issuers write leading zero bytes, which the standard omits.
fn number(text: &Option<String>) -> Option<Vec<u8>> {
    let bytes = decode(text)?;
    let first = bytes.iter().position(|byte| *byte != 0)?;
    Some(bytes[first..].to_vec())
}

fn exactly(text: &Option<String>, length: usize) -> Option<Vec<u8>> {
    decode(text).filter(|bytes| bytes.len() == length)
}

fn point(document: &Document, length: usize) -> Option<Vec<u8>> {
    let (x, y) = (exactly(&document.x, length)?, exactly(&document.y, length)?);
    Some([&[UNCOMPRESSED], &x[..], &y[..]].concat())
}
