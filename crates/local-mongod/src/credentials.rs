//! The secrets of a server: the password of its user, and the key of its members.

use std::io;
use std::path::{Path, PathBuf};

use mongodb::options::{AuthMechanism, Credential};
use secrecy::{ExposeSecret as _, SecretString};

use crate::{Error, secret_file};

/// The user for whom the server is started.
pub(crate) const USER: &str = "reprise";
/// The name of mongod for a member that knows the key; it may do everything.
const MEMBER: &str = "__system";
const SECRET_BYTES: usize = 32;

/// The secrets of a server.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    password: SecretString,
    key: SecretString,
    /// The file that holds them, unless the server is temporary.
    file: Option<PathBuf>,
}

impl Credentials {
    /// Returns the secrets in this file.
    ///
    /// If there is no such file, if it cannot be understood, or if other accounts may read it, new
    /// secrets are made and written.
    pub(crate) fn open(file: &Path) -> Result<Self, Error> {
        if let Some(content) = secret_file::read_private(file)?
            && let Some(credentials) = Self::parse(&content, file)
        {
            return Ok(credentials);
        }
        if file.exists() {
            tracing::warn!(path = %file.display(), "new credentials replace those in this file");
        }
        let credentials = Self { file: Some(file.to_owned()), ..Self::temporary()? };
        secret_file::write(file, credentials.content().expose_secret())?;
        Ok(credentials)
    }

    /// Makes secrets that are in no file.
    pub(crate) fn temporary() -> Result<Self, Error> {
        Ok(Self { password: random()?, key: random()?, file: None })
    }

    /// Returns the secrets in the file of a running server.
    pub(crate) fn read(file: &Path) -> Result<Self, Error> {
        let content = std::fs::read_to_string(file).map_err(Error::file("read", file))?;
        let unusable = || Error::Credentials { file: file.to_owned() };
        Self::parse(&content, file).ok_or_else(unusable)
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    pub(crate) fn password(&self) -> &str {
        self.password.expose_secret()
    }

    /// Writes the key where a member reads it.
    pub(crate) fn write_key(&self, file: &Path) -> Result<(), Error> {
        secret_file::write(file, self.key.expose_secret())
    }

    /// Adds user and password to a URI of this server.
    pub(crate) fn complete(&self, uri: &str) -> SecretString {
        let hosts = uri.trim_start_matches("mongodb://");
        let password = self.password.expose_secret();
        let options = "authSource=admin&authMechanism=SCRAM-SHA-256";
        format!("mongodb://{USER}:{password}@{hosts}&{options}").into()
    }

    /// The right to do everything, which the members of a set give each other.
    pub(crate) fn of_member(&self) -> Credential {
        Credential::builder()
            .username(MEMBER.to_owned())
            .source("local".to_owned())
            .password(self.key.expose_secret().to_owned())
            .mechanism(AuthMechanism::ScramSha256)
            .build()
    }

    fn content(&self) -> SecretString {
        let (password, key) = (self.password.expose_secret(), self.key.expose_secret());
        format!("user {USER}\npassword {password}\nkey {key}\n").into()
    }

    fn parse(content: &str, file: &Path) -> Option<Self> {
        let value = |name: &str| {
            let mut pairs = content.lines().filter_map(|line| line.split_once(' '));
            let (_, value) = pairs.find(|(key, _)| *key == name)?;
            is_secret(value).then(|| SecretString::from(value))
        };
        let (password, key) = (value("password")?, value("key")?);
        Some(Self { password, key, file: Some(file.to_owned()) })
    }
}

/// Such text needs no escapes in a URI, and mongod accepts it as a key.
fn is_secret(text: &str) -> bool {
    text.len() == 2 * SECRET_BYTES && text.chars().all(|c| c.is_ascii_hexdigit())
}

fn random() -> Result<SecretString, Error> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Error::NoRandomNumbers(io::Error::other(error)))?;
    Ok(hex::encode(bytes).into())
}
