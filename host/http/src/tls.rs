//! HTTPS from files: a certificate chain and its private key in PEM. Changed files are read again, so that a
//! renewed certificate needs no restart. An invalid pair never replaces a valid one.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail, ensure};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert, ServerConfig};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::{Accept, TlsAcceptor};

/// The interval of checking the files.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);
/// The protocols for ALPN, best first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Marks a request that came over TLS, as an extension.
#[derive(Debug, Clone, Copy)]
pub struct Secure;

/// The TLS acceptor with the current certificate of the files. Clones share it.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    files: Arc<Files>,
}

#[derive(Debug)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    current: ArcSwap<CertifiedKey>,
    /// The files' stamps when they were last read, valid or not.
    seen: Mutex<[Option<Stamp>; 2]>,
}

/// Distinguishes a file from its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    length_bytes: u64,
    modified: Option<SystemTime>,
}

impl Tls {
    /// From the settings; `None` if they have no certificate.
    pub fn configured(certificate: Option<&Path>, key: Option<&Path>) -> anyhow::Result<Option<Tls>> {
        match (certificate, key) {
            (Some(certificate), Some(key)) => Tls::open(certificate, key).map(Some),
            (None, None) => Ok(None),
            _ => bail!("tls_cert and tls_key belong together: set both for HTTPS, or neither for HTTP"),
        }
    }

    /// Reads both files. Fails if they are missing or do not match.
    pub fn open(certificate: &Path, key: &Path) -> anyhow::Result<Tls> {
        let seen = [Stamp::of(certificate), Stamp::of(key)];
        let current = read_pair(certificate, key)?;
        let files = Arc::new(Files {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            current: ArcSwap::from_pointee(current),
            seen: Mutex::new(seen),
        });
        let resolver: Arc<dyn ResolvesServerCert> = Arc::clone(&files) as _;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .context("ring speaks TLS 1.2 and 1.3")?
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        config.alpn_protocols = PROTOCOLS.iter().map(|name| name.to_vec()).collect();
        Ok(Tls { acceptor: TlsAcceptor::from(Arc::new(config)), files })
    }

    pub(super) fn accept(&self, stream: TcpStream) -> Accept<TcpStream> {
        self.acceptor.accept(stream)
    }

    /// Reads the files again after a change, and at once on SIGHUP. Never resolves.
    pub(super) async fn follow_files(self) {
        let mut hangup = signal(SignalKind::hangup()).inspect_err(|error| tracing::warn!("SIGHUP: {error}"));
        loop {
            let told = tokio::select! {
                () = sleep(LOOK_INTERVAL) => false,
                () = hung_up(&mut hangup) => true,
            };
            let files = Arc::clone(&self.files);
            let looked = tokio::task::spawn_blocking(move || files.look(told)).await;
            match looked.unwrap_or_else(|error| Some(Err(error.into()))) {
                None => {}
                Some(Ok(())) => tracing::info!("{} was reloaded", self.files.certificate.display()),
                Some(Err(error)) => tracing::error!("the previous certificate stays in use: {error:#}"),
            }
        }
    }
}

/// Resolves on the signal; never if it cannot be caught.
async fn hung_up(hangup: &mut io::Result<Signal>) {
    if let Ok(hangup) = hangup
        && hangup.recv().await.is_some()
    {
        return;
    }
    std::future::pending().await
}

impl Files {
    /// The outcome of reading the files again; `None` if that was not needed.
    fn look(&self, told: bool) -> Option<anyhow::Result<()>> {
        let now = [Stamp::of(&self.certificate), Stamp::of(&self.key)];
        let mut seen = self.seen.lock();
        if !told && *seen == now {
            return None;
        }
        *seen = now;
        Some(read_pair(&self.certificate, &self.key).map(|pair| self.current.store(Arc::new(pair))))
    }
}

impl ResolvesServerCert for Files {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.load_full())
    }
}

impl Stamp {
    fn of(path: &Path) -> Option<Stamp> {
        let metadata: Metadata = fs::metadata(path).ok()?;
        Some(Stamp {
            inode: metadata.ino(),
            length_bytes: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }
}

fn read_pair(certificate: &Path, key: &Path) -> anyhow::Result<CertifiedKey> {
    let chain = read_chain(certificate)?;
    let signing = ring::sign::any_supported_type(&read_key(key)?).with_context(|| {
        format!("the key in {} must be RSA, ECDSA on P-256 or P-384, or Ed25519", key.display())
    })?;
    let pair = CertifiedKey::new(chain, signing);
    pair.keys_match().with_context(|| {
        format!("the key in {} does not match the certificate in {}", key.display(), certificate.display())
    })?;
    Ok(pair)
}

fn read_chain(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let text = read(path, "certificate")?;
    let chain: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.with_context(|| format!("{} is not PEM", path.display()))?;
    ensure!(
        !chain.is_empty(),
        "{} holds no certificate: it must be PEM, `-----BEGIN CERTIFICATE-----`, the server's first",
        path.display()
    );
    Ok(chain)
}

fn read_key(path: &Path) -> anyhow::Result<PrivateKeyDer<'static>> {
    let text = read(path, "private key")?;
    warn_if_open(path);
    match PrivateKeyDer::from_pem_slice(&text) {
        Ok(key) => Ok(key),
        Err(pem::Error::NoItemsFound) => bail!(
            "{} holds no private key: it must be PEM, `-----BEGIN PRIVATE KEY-----`, and not encrypted",
            path.display()
        ),
        Err(error) => Err(error).with_context(|| format!("{} is not PEM", path.display())),
    }
}

fn read(path: &Path, what: &str) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read the {what} from {}", path.display()))
}

fn warn_if_open(path: &Path) {
    const OTHERS: u32 = 0o007;
    let mode = fs::metadata(path).map(|metadata| metadata.permissions().mode());
    if mode.is_ok_and(|mode| mode & OTHERS != 0) {
        let path = path.display();
        tracing::warn!("every user of this machine can read the private key {path}: chmod 600 {path}");
    }
}

#[cfg(test)]
mod tests;
