//! One public key that an issuer publishes (RFC 7517), and whether a JWT was signed with it. What a key is
//! good for, its kind decides, and what the issuer says of it; never the JWT alone.

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
/// How an elliptic curve's point begins when both coordinates follow.
const UNCOMPRESSED: u8 = 4;

/// As it is published; members that are not known are left alone.
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
    /// The one algorithm that the issuer uses it with, if it says so.
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
    /// None where it is no key for signatures, or of a kind that is not known here.
    pub fn from_document(document: Document) -> Option<PublicKey> {
        let for_signatures = document.usage.as_deref().is_none_or(|usage| usage == "sig")
            && document.key_ops.as_ref().is_none_or(|all| all.iter().any(|one| one == "verify"));
        let material = Material::of(&document)?;
        for_signatures.then_some(PublicKey { id: document.kid, algorithm: document.alg, material })
    }

    /// Whether the JWT may have been signed with it: by its id, if the JWT gives one, and its algorithm.
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

/// Keys below 2048 bits are refused by all of these.
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

/// Some issuers write the zero bytes in front, which the standard leaves out.
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
