//! Secret bytes: `Debug` hides them, and they are wiped when dropped.

use std::fmt;

use zeroize::Zeroizing;

/// A password, a key, a token. Access is explicit: [`Secret::bytes`], [`Secret::text`].
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// `None` if it is not text.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl From<Vec<u8>> for Secret {
    fn from(bytes: Vec<u8>) -> Secret {
        Secret(Zeroizing::new(bytes))
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Secret {
        Secret::from(text.into_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("***")
    }
}
