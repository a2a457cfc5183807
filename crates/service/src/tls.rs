//! TLS on the listeners, with a certificate that is read again when its file changes.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use records::{Clock as _, SystemClock};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{self, CertificateError, RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;
use tokio_util::task::AbortOnDropHandle;

use crate::certificate_validity::{Reminder, Validity};
use crate::config::{Config, ConfigError, TlsConfig};

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
    /// `None` if the certificates cannot be read.
    validity: Option<Validity>,
}

impl Config {
    /// Returns until when the certificate of TLS is valid, or why clients refuse it now; `None` without TLS, and if the files cannot
    /// be used or read.
    pub fn certificate(&self) -> Option<Result<DateTime<Utc>, String>> {
        let files = Files::of(&self.server.tls).ok()??;
        let validity = files.read().ok()?.parse().ok()?.validity?;
        let objection = validity.objection(SystemClock.now());
        Some(objection.map_or(Ok(validity.until), |objection| {
            Err(format!("the certificate in {CERTIFICATE}: {objection}"))
        }))
    }
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
        self.read().validity.map(|validity| validity.until.timestamp())
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
        let validity = chain.iter().filter_map(|it| Validity::of(it)).reduce(Validity::and);
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| {
            unusable(KEY, format!("it must hold a private key in PEM ({})", words(&error)))
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
        Ok(Current { config: Arc::new(config), validity })
    }
}

fn certificates(
    name: &'static str,
    text: &[u8],
) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(unusable(name, "it must hold certificates in PEM, and has none".to_owned())),
        Err(error) => {
            Err(unusable(name, format!("it must hold certificates in PEM ({})", words(&error))))
        }
    }
}

/// Returns what is wrong with a text in PEM. Some of the errors of the library list bytes.
fn words(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { end_marker } => {
            let label = String::from_utf8_lossy(end_marker);
            format!("the line -----END {label}----- is missing")
        }
        pem::Error::IllegalSectionStart { .. } => {
            "a line that begins with -----BEGIN is incomplete".to_owned()
        }
        pem::Error::NoItemsFound => "it has none".to_owned(),
        error => error.to_string(),
    }
}

/// Returns why the handshake with a client or a server has failed. Some of the errors of the library list bytes.
pub(crate) fn handshake_failure(error: &io::Error) -> String {
    use CertificateError::{
        UnsupportedSignatureAlgorithmContext, UnsupportedSignatureAlgorithmForPublicKeyContext,
    };
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(
            UnsupportedSignatureAlgorithmContext { .. }
            | UnsupportedSignatureAlgorithmForPublicKeyContext { .. },
        )) => "invalid peer certificate: its signature algorithm is not supported".to_owned(),
        _ => error.to_string(),
    }
}

fn unusable(name: &'static str, rule: String) -> ConfigError {
    ConfigError::Unusable { name, rule }
}

/// Reads the files again and again. Their contents are compared, because the time of a change may be coarse.
///
/// A certificate and its key are two files, which are replaced one after the other: what does not fit together is not used.
async fn follow(files: Files, mut used: Texts, current: Certificate) {
    let (mut objection, mut reminder) = (None, Reminder::default());
    loop {
        remind(&current, &mut reminder);
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
                (objection, reminder) = (None, Reminder::default());
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

/// Logs once a day that clients refuse the certificate in use.
fn remind(current: &Certificate, reminder: &mut Reminder) {
    let validity = current.read().validity;
    let refusal = validity.and_then(|validity| validity.objection(SystemClock.now()));
    if reminder.is_due(refusal.is_some(), Instant::now())
        && let Some(cause) = refusal
    {
        tracing::error!(cause, "clients refuse the TLS certificate");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_words_and_not_bytes() {
        let of_certificate = CertificateError::UnsupportedSignatureAlgorithmContext {
            signature_algorithm_id: vec![42, 134, 72],
            supported_algorithms: Vec::new(),
        };
        let error = io::Error::other(rustls::Error::InvalidCertificate(of_certificate));
        assert!(error.to_string().contains("42, 134, 72"));
        let said = handshake_failure(&error);
        assert_eq!(said, "invalid peer certificate: its signature algorithm is not supported");
        let said = handshake_failure(&io::Error::other(rustls::Error::NoCertificatesPresented));
        assert_eq!(said, "peer sent no certificates");
        let said = certificates(CERTIFICATE, b"-----BEGIN CERTIFICATE-----\nAAAA\n").unwrap_err();
        let expected = "(the line -----END CERTIFICATE----- is missing)";
        assert!(said.to_string().contains(expected), "{said}");
    }
}
