//! TLS on the listeners, with a certificate that is read again when its file changes.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use simple_asn1::ASN1Block;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;
use tokio_util::task::AbortOnDropHandle;

use crate::config::{ConfigError, TlsConfig};

/// How often the files are read, to see whether they have changed.
const FILE_INTERVAL: Duration = Duration::from_secs(1);
const CERTIFICATE: &str = "server.tls.cert_file";
const KEY: &str = "server.tls.key_file";
const CLIENTS: &str = "server.tls.client_ca_file";

/// The certificate with which the service proves its name. Connections that are open keep the one that they began with.
#[derive(Clone)]
pub(crate) struct Tls {
    current: Certificate,
    /// Ends with the last clone.
    _follows: Arc<AbortOnDropHandle<()>>,
}

/// The certificate that is in use. It changes with its file.
#[derive(Clone)]
pub(crate) struct Certificate(Arc<RwLock<Current>>);

/// What the files that are in use say.
#[derive(Clone)]
struct Current {
    config: Arc<ServerConfig>,
    expires_at: Option<i64>,
}

impl Tls {
    /// Checks the settings, and that the files can be used.
    pub(crate) fn check(config: &TlsConfig) -> Result<(), ConfigError> {
        Files::of(config)?.map_or(Ok(()), |files| files.read()?.parse().map(drop))
    }

    /// Reads the files, and follows their changes; `None` without TLS.
    pub(crate) fn start(config: &TlsConfig) -> Result<Option<Self>, ConfigError> {
        let Some(files) = Files::of(config)? else { return Ok(None) };
        let read = files.read()?;
        let current = Certificate(Arc::new(RwLock::new(read.parse()?)));
        let task = tokio::spawn(follow(files, read, current.clone()));
        Ok(Some(Self { current, _follows: Arc::new(AbortOnDropHandle::new(task)) }))
    }

    /// Agrees on keys with a client.
    pub(crate) async fn accept<S>(&self, stream: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        TlsAcceptor::from(self.current.read().config).accept(stream).await
    }

    pub(crate) fn certificate(&self) -> Certificate {
        self.current.clone()
    }
}

impl Certificate {
    /// Returns when it expires, or one of those that lead to it, in seconds since 1970; `None` if that cannot be read.
    pub(crate) fn expires_at(&self) -> Option<i64> {
        self.read().expires_at
    }

    fn read(&self) -> Current {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replace(&self, by: Current) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = by;
    }
}

/// The files that the settings name.
#[derive(Debug, Clone)]
struct Files {
    certificate: Arc<Path>,
    key: Arc<Path>,
    clients: Option<Arc<Path>>,
}

/// What the files hold.
#[derive(PartialEq, Eq)]
struct Texts {
    certificate: Vec<u8>,
    key: Vec<u8>,
    clients: Option<Vec<u8>>,
}

impl Files {
    fn of(config: &TlsConfig) -> Result<Option<Self>, ConfigError> {
        let missing = |name, other| {
            Err(unusable(name, format!("it is missing beside {other}: set both, or none of them")))
        };
        match (&config.cert_file, &config.key_file, &config.client_ca_file) {
            (Some(certificate), Some(key), clients) => Ok(Some(Self {
                certificate: certificate.as_path().into(),
                key: key.as_path().into(),
                clients: clients.as_deref().map(Into::into),
            })),
            (None, None, None) => Ok(None),
            (Some(_), None, _) => missing(KEY, CERTIFICATE),
            (None, Some(_), _) => missing(CERTIFICATE, KEY),
            (None, None, Some(_)) => missing(CERTIFICATE, CLIENTS),
        }
    }

    fn read(&self) -> Result<Texts, ConfigError> {
        let read = |name, path: &Path| {
            let unreadable =
                |error| unusable(name, format!("{} cannot be read: {error}", path.display()));
            fs::read(path).map_err(unreadable)
        };
        Ok(Texts {
            certificate: read(CERTIFICATE, &self.certificate)?,
            key: read(KEY, &self.key)?,
            clients: self.clients.as_deref().map(|path| read(CLIENTS, path)).transpose()?,
        })
    }
}

impl Texts {
    fn parse(&self) -> Result<Current, ConfigError> {
        let chain = certificates(CERTIFICATE, &self.certificate)?;
        let expires_at = chain.iter().filter_map(|it| not_after(it)).min();
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| {
            unusable(KEY, format!("it must hold a private key in PEM ({error})"))
        })?;
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(CERTIFICATE, error.to_string()))?;
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some(text) => {
                let mut roots = RootCertStore::empty();
                for root in certificates(CLIENTS, text)? {
                    roots.add(root).map_err(|error| unusable(CLIENTS, error.to_string()))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                        .build()
                        .map_err(|error| unusable(CLIENTS, error.to_string()))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| {
            unusable(CERTIFICATE, format!("it cannot be used with {KEY}: {error}"))
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Current { config: Arc::new(config), expires_at })
    }
}

/// Returns when a certificate expires, in seconds since 1970.
///
/// RFC 5280, section 4.1, lists the signed fields. Only one of them is a sequence of two times: the validity.
fn not_after(certificate: &[u8]) -> Option<i64> {
    let parts = |block: &ASN1Block| match block {
        ASN1Block::Sequence(_, parts) => Some(parts.clone()),
        _ => None,
    };
    let certificate = parts(simple_asn1::from_der(certificate).ok()?.first()?)?;
    let signed = parts(certificate.first()?)?;
    signed.iter().filter_map(parts).find_map(|parts| match parts.as_slice() {
        [_, ASN1Block::UTCTime(_, at) | ASN1Block::GeneralizedTime(_, at)] => {
            Some(at.assume_utc().unix_timestamp())
        }
        _ => None,
    })
}

fn certificates(
    name: &'static str,
    text: &[u8],
) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(unusable(name, "it must hold certificates in PEM, and has none".to_owned())),
        Err(error) => Err(unusable(name, format!("it must hold certificates in PEM ({error})"))),
    }
}

fn unusable(name: &'static str, rule: String) -> ConfigError {
    ConfigError::Unusable { name, rule }
}

/// Reads the files again and again. Their contents are compared, because the time of a change may be coarse.
///
/// A certificate and its key are two files, which are replaced one after the other: what does not fit together is not used.
async fn follow(files: Files, mut used: Texts, current: Certificate) {
    let mut objection = None;
    loop {
        tokio::time::sleep(FILE_INTERVAL).await;
        let read = tokio::task::spawn_blocking({
            let files = files.clone();
            move || files.read()
        });
        let Ok(read) = read.await else { continue };
        let parsed = match read {
            Ok(texts) if texts == used => {
                objection = None;
                continue;
            }
            Ok(texts) => texts.parse().map(|parsed| (texts, parsed)),
            Err(error) => Err(error),
        };
        match parsed {
            Ok((texts, parsed)) => {
                used = texts;
                objection = None;
                current.replace(parsed);
                tracing::info!("the TLS certificate has changed, and is used from now on");
            }
            Err(error) => {
                let error = error.to_string();
                if objection.as_ref() != Some(&error) {
                    tracing::warn!(
                        error,
                        "the TLS certificate has changed and cannot be used: the one before stays"
                    );
                    objection = Some(error);
                }
            }
        }
    }
}
