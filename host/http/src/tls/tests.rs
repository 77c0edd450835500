//! The certificates of `tests/data/tls` are for `localhost`, valid until 2120, and used nowhere else.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::*;

const FIRST: [&str; 2] =
    [include_str!("../../tests/data/tls/first.pem"), include_str!("../../tests/data/tls/first.key")];
const SECOND: [&str; 2] =
    [include_str!("../../tests/data/tls/second.pem"), include_str!("../../tests/data/tls/second.key")];

/// The files of a certificate and its key.
fn written(folder: &TempDir, [certificate, key]: [&str; 2]) -> (PathBuf, PathBuf) {
    let paths = (folder.path().join("server.pem"), folder.path().join("server.key"));
    fs::write(&paths.0, certificate).unwrap();
    fs::write(&paths.1, key).unwrap();
    paths
}

fn refusal(pair: [&str; 2]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = written(&folder, pair);
    format!("{:#}", Tls::open(&certificate, &key).err().expect("it is refused"))
}

/// Connects as a client that trusts this certificate only.
async fn connect(tls: &Tls, trusted: &str, protocols: &[&[u8]]) -> anyhow::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusted.as_bytes()).unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let tls = tls.clone();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        if let Ok(mut stream) = tls.accept(stream).await {
            stream.write_all(b"hello").await.unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    let stream = TcpStream::connect(address).await.unwrap();
    let mut stream =
        TlsConnector::from(Arc::new(config)).connect("localhost".try_into().unwrap(), stream).await?;
    let mut said = String::new();
    stream.read_to_string(&mut said).await?;
    assert_eq!(said, "hello");
    Ok(stream)
}

#[tokio::test]
async fn alpn_selects_the_clients_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = written(&folder, FIRST);
    let tls = Tls::open(&certificate, &key).unwrap();
    for (offered, chosen) in
        [(&PROTOCOLS[..], Some(&b"h2"[..])), (&[b"http/1.1"], Some(b"http/1.1")), (&[], None)]
    {
        let stream = connect(&tls, FIRST[0], offered).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), chosen);
    }
    assert!(connect(&tls, SECOND[0], &[]).await.is_err(), "it is not trusted");
    assert!(connect(&tls, FIRST[0], &[b"spdy/3"]).await.is_err(), "no protocol in common");
}

#[tokio::test]
async fn changed_certificates_load_unless_mismatched() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = written(&folder, FIRST);
    let tls = Tls::open(&certificate, &key).unwrap();
    assert!(tls.files.look(false).is_none(), "nothing changed");
    assert!(tls.files.look(true).is_some_and(|outcome| outcome.is_ok()), "told to");

    fs::remove_file(&certificate).unwrap();
    fs::write(&certificate, SECOND[0]).unwrap();
    let half = tls.files.look(false).expect("the certificate is another").unwrap_err().to_string();
    assert!(half.contains("does not match"), "{half}");
    assert!(tls.files.look(false).is_none(), "said once");
    connect(&tls, FIRST[0], &[]).await.expect("the old one stays in use");

    fs::remove_file(&key).unwrap();
    fs::write(&key, SECOND[1]).unwrap();
    tls.files.look(false).expect("the key is another").unwrap();
    connect(&tls, SECOND[0], &[]).await.expect("the new one is in use");
}

#[test]
fn what_is_wrong_with_the_files_is_said() {
    let missing = Path::new("/nowhere/server.pem");
    let message = format!("{:#}", Tls::open(missing, missing).err().expect("it is refused"));
    assert!(message.contains("cannot read the certificate from /nowhere/server.pem"), "{message}");
    let message = refusal(["", FIRST[1]]);
    assert!(message.contains("server.pem holds no certificate"), "{message}");
    let message = refusal([FIRST[1], FIRST[1]]);
    assert!(message.contains("server.pem holds no certificate"), "{message}");
    let message = refusal([FIRST[0], FIRST[0]]);
    assert!(message.contains("server.key holds no private key"), "{message}");
    let message = refusal([FIRST[0], SECOND[1]]);
    assert!(message.contains("server.key does not match the certificate in"), "{message}");
    assert!(Tls::configured(None, None).unwrap().is_none());
    let message = Tls::configured(Some(missing), None).err().expect("it is refused").to_string();
    assert!(message.contains("tls_cert and tls_key belong together"), "{message}");
    let message = refusal([&FIRST[0][..200], FIRST[1]]);
    assert!(message.contains("server.pem is not PEM"), "{message}");
}
