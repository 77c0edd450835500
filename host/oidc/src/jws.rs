//! Parses a JWT (RFC 7515, compact form) and its declared algorithm, without checking the signature.
//! Algorithms without a signature (`none`) or with a shared secret (`HS…`) are not supported.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lakeport_base::Error;
use serde::Deserialize;
use serde_json::Value;

/// Signature algorithms by their names in RFC 7518 and RFC 8037.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    const ALL: [Algorithm; 7] = [
        Algorithm::Rs256,
        Algorithm::Rs384,
        Algorithm::Rs512,
        Algorithm::Ps256,
        Algorithm::Es256,
        Algorithm::Es384,
        Algorithm::EdDsa,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Algorithm::Rs256 => "RS256",
            Algorithm::Rs384 => "RS384",
            Algorithm::Rs512 => "RS512",
            Algorithm::Ps256 => "PS256",
            Algorithm::Es256 => "ES256",
            Algorithm::Es384 => "ES384",
            Algorithm::EdDsa => "EdDSA",
        }
    }

    fn named(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.as_str() == name)
    }
}

pub struct Jws<'t> {
    pub algorithm: Algorithm,
    /// The declared key id.
    pub key_id: Option<String>,
    pub payload: Vec<u8>,
    pub signature: Vec<u8>,
    /// The signed part: header and payload as they were sent.
    pub signed: &'t str,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

impl<'t> Jws<'t> {
    pub fn parse(text: &'t str) -> Result<Jws<'t>, Error> {
        let (signed, signature) = text.rsplit_once('.').ok_or_else(no_jwt)?;
        let (header, payload) = signed.split_once('.').ok_or_else(no_jwt)?;
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| no_jwt())?;
        let algorithm = Algorithm::named(&header.alg).ok_or_else(|| {
            let taken = Algorithm::ALL.map(Algorithm::as_str).join(", ");
            Error::unauthenticated(format!("unsupported JWT algorithm; supported: {taken}"))
        })?;
        if header.crit.is_some() {
            return Err(Error::unauthenticated("the JWT requires unsupported extensions (`crit`)"));
        }
        if !header.typ.as_deref().is_none_or(is_of_a_person) {
            return Err(Error::unauthenticated("the JWT's type does not identify a caller"));
        }
        Ok(Jws {
            algorithm,
            key_id: header.kid,
            payload: decode(payload)?,
            signature: decode(signature)?,
            signed,
        })
    }
}

/// Accepts ID and access tokens (RFC 9068); a logout token of the same issuer, for one, does not authenticate
/// a caller.
fn is_of_a_person(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    matches!(kind.strip_prefix("application/").unwrap_or(&kind), "jwt" | "at+jwt")
}

fn decode(part: &str) -> Result<Vec<u8>, Error> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| no_jwt())
}

fn no_jwt() -> Error {
    Error::unauthenticated("the token is neither from this server nor a signed JWT")
}
