//! TLS on the listeners, as clients see it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use service::{Config, LimitsConfig, ServerConfig, TlsConfig};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::harness::memory;
use crate::serve::{Server, read_to_end, start_with};

const REQUEST: &[u8] =
    b"GET /api/health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

const METRICS: &[u8] = b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

type Issuer = CertifiedIssuer<'static, KeyPair>;

/// A certificate and its key, in PEM and for a client.
struct Certified {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

fn issuer() -> Issuer {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn certified(issuer: &Issuer) -> Certified {
    expiring(issuer, 4_000)
}

/// Returns a certificate that expires at the beginning of a year.
fn expiring(issuer: &Issuer, year: i32) -> Certified {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(year, 1, 1);
    Certified { certificate: params.signed_by(&key, issuer).unwrap(), key }
}

/// The files of a service.
struct Files(TempDir);

impl Files {
    fn of(certified: &Certified) -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        files.replace(certified);
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn replace(&self, certified: &Certified) {
        fs::write(self.path("tls.crt"), certified.certificate.pem()).unwrap();
        fs::write(self.path("tls.key"), certified.key.serialize_pem()).unwrap();
    }

    fn settings(&self) -> TlsConfig {
        TlsConfig {
            cert_file: Some(self.path("tls.crt")),
            key_file: Some(self.path("tls.key")),
            client_ca_file: None,
        }
    }
}

async fn serve(tls: TlsConfig, limits: LimitsConfig) -> Server {
    let server = ServerConfig { tls, ..ServerConfig::default() };
    start_with(memory(), Config { server, limits, ..Config::default() }).await
}

fn client(root: &Issuer, own: Option<&Certified>) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(root.der().clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.key.serialize_der()));
            builder.with_client_auth_cert(vec![own.certificate.der().clone()], key).unwrap()
        }
    };
    TlsConnector::from(Arc::new(config))
}

/// Connects and asks whether the service lives. A certificate that a service refuses is an error of the first read.
async fn ask(
    server: &Server,
    client: &TlsConnector,
) -> std::io::Result<(String, TlsStream<tokio::net::TcpStream>)> {
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = client.connect(name, server.connect().await).await?;
    stream.write_all(REQUEST).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok((String::from_utf8(answer).unwrap(), stream))
}

#[tokio::test]
async fn requests_are_served_over_tls_and_not_without_it() {
    let root = issuer();
    let files = Files::of(&certified(&root));
    let limits = LimitsConfig { header_timeout_ms: 300, ..LimitsConfig::default() };
    let server = serve(files.settings(), limits).await;
    let (answer, _) = ask(&server, &client(&root, None)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // One that does not trust the certificate, one that speaks no TLS, and one that says nothing.
    assert!(ask(&server, &client(&issuer(), None)).await.is_err());
    for text in [REQUEST, b""] {
        let mut stream = server.connect().await;
        stream.write_all(text).await.unwrap();
        let mut answer = Vec::new();
        let read = timeout(Duration::from_secs(10), stream.read_to_end(&mut answer)).await;
        let _ = read.expect("the service hangs up");
        assert!(!String::from_utf8_lossy(&answer).contains("HTTP"));
    }
    let (answer, _) = ask(&server, &client(&root, None)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    server.shutdown.cancel();
    server.stopped().await;
}

#[tokio::test]
async fn a_new_certificate_is_used_once_it_fits_its_key() {
    let (old, new) = (issuer(), issuer());
    let files = Files::of(&certified(&old));
    let server = serve(files.settings(), LimitsConfig::default()).await;
    let mut kept = {
        let name = ServerName::try_from("localhost").unwrap();
        client(&old, None).connect(name, server.connect().await).await.unwrap()
    };
    let replacement = certified(&new);
    // Only the certificate: it does not fit the key that is still there.
    fs::write(files.path("tls.crt"), replacement.certificate.pem()).unwrap();
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    ask(&server, &client(&old, None)).await.expect("the old one is still used");
    files.replace(&replacement);
    let replaced = async {
        while ask(&server, &client(&new, None)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(Duration::from_secs(10), replaced).await.expect("the new one is used");
    assert!(ask(&server, &client(&old, None)).await.is_err(), "the old one is no longer used");
    // What was open goes on.
    kept.write_all(REQUEST).await.unwrap();
    let mut answer = String::new();
    kept.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn clients_need_a_certificate_if_the_service_has_their_root() {
    let (root, of_clients) = (issuer(), issuer());
    let files = Files::of(&certified(&root));
    let roots = files.path("clients.crt");
    fs::write(&roots, of_clients.pem()).unwrap();
    let tls = TlsConfig { client_ca_file: Some(roots), ..files.settings() };
    let server = serve(tls, LimitsConfig::default()).await;
    let with = |issuer: &Issuer| client(&root, Some(&certified(issuer)));
    ask(&server, &with(&of_clients)).await.expect("a client with a certificate is served");
    assert!(ask(&server, &with(&issuer())).await.is_err());
    assert!(ask(&server, &client(&root, None)).await.is_err());
}

#[tokio::test]
async fn settings_that_cannot_be_used_are_refused_by_name() {
    let root = issuer();
    let (one, other) = (certified(&root), certified(&root));
    let files = Files::of(&one);
    let listen = "127.0.0.1:0".parse().unwrap();
    let checked = |tls: TlsConfig| {
        let server = ServerConfig { tls, ..ServerConfig::default() };
        Config { server, ..Config::default() }.check(listen).map_err(|error| error.to_string())
    };
    assert_eq!(checked(files.settings()), Ok(()));
    let refused = |tls: TlsConfig, expected: &str| {
        let error = checked(tls).unwrap_err();
        assert!(error.contains(expected), "{expected} is not in {error}");
    };
    let whole = files.settings();
    refused(
        TlsConfig { key_file: None, ..whole.clone() },
        "server.tls.key_file is not usable: it is missing beside server.tls.cert_file",
    );
    refused(
        TlsConfig { client_ca_file: whole.cert_file.clone(), ..TlsConfig::default() },
        "server.tls.cert_file is not usable: it is missing",
    );
    refused(
        TlsConfig { cert_file: Some(files.path("none")), ..whole.clone() },
        "none cannot be read",
    );
    refused(
        TlsConfig { cert_file: whole.key_file.clone(), ..whole.clone() },
        "server.tls.cert_file is not usable: it must hold certificates in PEM",
    );
    refused(
        TlsConfig { key_file: whole.cert_file.clone(), ..whole.clone() },
        "server.tls.key_file is not usable: it must hold a private key",
    );
    fs::write(files.path("other.key"), other.key.serialize_pem()).unwrap();
    refused(
        TlsConfig { key_file: Some(files.path("other.key")), ..whole },
        "it cannot be used with server.tls.key_file",
    );
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_a_handshake() {
    let files = Files::of(&certified(&issuer()));
    let server = serve(files.settings(), LimitsConfig::default()).await;
    let mut stream = server.connect().await;
    stream.write_all(&[0x16, 3, 1]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.shutdown.cancel();
    let stopped = timeout(Duration::from_secs(3), server.stopped()).await;
    stopped.expect("it stops at once");
    read_to_end(&mut stream).await;
}

#[tokio::test]
async fn the_metrics_say_when_the_certificate_expires() {
    let root = issuer();
    let files = Files::of(&expiring(&root, 2_049));
    let server = serve(files.settings(), LimitsConfig::default()).await;
    let client = client(&root, None);
    let value = async || {
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = client.connect(name, server.connect().await).await.unwrap();
        stream.write_all(METRICS).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        expiry(&answer)
    };
    // 1 January 2049, which a certificate has as UTCTime, and 2051, as GeneralizedTime.
    assert_eq!(value().await, 2_493_072_000);
    files.replace(&expiring(&root, 2_051));
    timeout(Duration::from_secs(10), async {
        while value().await != 2_556_144_000 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .unwrap();
    server.shutdown.cancel();
    server.stopped().await;

    let server = serve(TlsConfig::default(), LimitsConfig::default()).await;
    let mut stream = server.connect().await;
    stream.write_all(METRICS).await.unwrap();
    let answer = read_to_end(&mut stream).await;
    assert_eq!(expiry(&answer), 0);
}

/// Returns when the certificate expires, as metrics say.
fn expiry(metrics: &str) -> i64 {
    const EXPIRY: &str = "reprise_tls_certificate_expiry_timestamp_seconds ";
    let mut values = metrics.lines().filter_map(|line| line.strip_prefix(EXPIRY));
    values.next().expect(EXPIRY).parse().unwrap()
}
