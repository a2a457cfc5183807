//! The lock on a data directory.
//!
//! The lock on the file is authoritative and ends with the process; the content only names its owner.

use std::fmt::{self, Display};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, process};

use secrecy::SecretString;

use crate::Error;
use crate::credentials::Credentials;
use crate::deadline::Deadline;
use crate::uses::Use;

/// The longest wait for the lock, because [`attach`] holds it for a moment.
const MAX_LOCK_WAIT: Duration = Duration::from_millis(500);
const ATTACH_PATIENCE: Duration = Duration::from_mins(1);
/// How long it may take to notice that the process of a server has ended.
const MAX_LEAVING: Duration = Duration::from_secs(1);

/// The process that runs a server on a data directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// Its process id, once it is known.
    pub pid: Option<u32>,
    /// Name of its program.
    pub program: Option<String>,
    /// The URI of its server without credentials, once the server is ready.
    pub uri: Option<String>,
    /// The file that holds the user and the password, if the server requires them.
    pub credentials: Option<PathBuf>,
}

impl Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = self.program.as_deref().unwrap_or("another process");
        formatter.write_str(program)?;
        if let Some(pid) = self.pid {
            write!(formatter, " (pid {pid})")?;
        }
        match &self.uri {
            Some(uri) => write!(formatter, ", which serves it at {uri}")?,
            None => formatter.write_str(", which is starting a server on it")?,
        }
        if let Some(file) = &self.credentials {
            write!(formatter, " (user and password in {})", file.display())?;
        }
        Ok(())
    }
}

impl Holder {
    fn this_process() -> Self {
        let program = env::current_exe().ok();
        let name = program.as_deref().and_then(Path::file_name);
        Self {
            pid: Some(process::id()),
            program: name.map(|name| name.to_string_lossy().into_owned()),
            uri: None,
            credentials: None,
        }
    }

    /// Adds user and password to the URI, if the server requires them.
    fn complete(&self, uri: &str) -> Result<SecretString, Error> {
        match &self.credentials {
            Some(file) => Ok(Credentials::read(file)?.complete(uri)),
            None => Ok(uri.into()),
        }
    }

    /// The readable part of the file; its owner may be writing it.
    fn read(path: &Path) -> Self {
        let mut holder = Self::default();
        for line in fs::read_to_string(path).unwrap_or_default().lines() {
            match line.split_once(' ') {
                Some(("pid", pid)) => holder.pid = pid.parse().ok(),
                Some(("program", program)) => holder.program = Some(program.to_owned()),
                Some(("uri", uri)) => holder.uri = Some(uri.to_owned()),
                Some(("credentials", file)) => holder.credentials = Some(file.into()),
                _ => {}
            }
        }
        holder
    }

    fn write(&self, mut file: &File) -> io::Result<()> {
        let mut text = String::new();
        let pid = self.pid.map(|pid| pid.to_string());
        let credentials = self.credentials.as_ref().map(|file| file.to_string_lossy().into_owned());
        // The URI comes last: a reader that finds it has found the rest.
        let lines = [
            ("pid", &pid),
            ("program", &self.program),
            ("credentials", &credentials),
            ("uri", &self.uri),
        ];
        for (key, value) in lines {
            if let Some(value) = value {
                text.extend([key, " ", value, "\n"]);
            }
        }
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(text.as_bytes())
    }
}

/// The exclusive right of this process to run a server on a data directory.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Takes the lock, or returns its owner.
    pub(crate) async fn take(data_dir: &Path) -> Result<Self, Error> {
        let path = file_in(data_dir);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(Error::file("open", &path))?;
        let deadline = Deadline::after(MAX_LOCK_WAIT);
        while is_held(file.try_lock(), &path)? {
            if deadline.pause(String::new).await.is_err() {
                let holder = Holder::read(&path);
                return Err(Error::Held { data_dir: data_dir.to_owned(), holder });
            }
        }
        let holder = Holder::read(&path);
        if left(data_dir, &holder).await?.is_some() {
            return Err(Error::Held { data_dir: data_dir.to_owned(), holder });
        }
        let lock = Self { path, file };
        lock.write(&Holder::this_process())?;
        Ok(lock)
    }

    /// Publishes the URI of the server and the file of its credentials.
    pub(crate) fn publish(&self, uri: &str, credentials: Option<&Path>) -> Result<(), Error> {
        let (uri, credentials) = (Some(uri.to_owned()), credentials.map(Path::to_owned));
        self.write(&Holder { uri, credentials, ..Holder::this_process() })
    }

    fn write(&self, holder: &Holder) -> Result<(), Error> {
        holder.write(&self.file).map_err(Error::file("write", &self.path))
    }
}

/// A server that another process started. It runs at least as long as this value, also if that process ends.
#[derive(Debug)]
pub struct Attached {
    uri: SecretString,
    _uses: Vec<Use>,
}

impl Attached {
    /// Connects a driver to the server, with credentials if it requires them.
    pub fn uri(&self) -> &SecretString {
        &self.uri
    }

    /// Attaches to the server that a holder has published; `None` if it has published none, or if one of its members does not run.
    fn to(data_dir: &Path, holder: &Holder) -> Result<Option<Self>, Error> {
        let Some(uri) = &holder.uri else { return Ok(None) };
        let members = 0..=uri.matches(',').count();
        let uses = members.map(|index| Use::of(&data_dir.join(format!("member-{index}"))));
        let uses: Option<Vec<_>> = uses.collect::<Result<_, _>>()?;
        let Some(uses) = uses else { return Ok(None) };
        Ok(Some(Self { uri: holder.complete(uri)?, _uses: uses }))
    }
}

/// Attaches to the server that another process runs on `data_dir`, if one does.
///
/// Waits while that server is still starting.
pub async fn attach(data_dir: &Path) -> Result<Option<Attached>, Error> {
    let path = file_in(data_dir);
    let deadline = Deadline::after(ATTACH_PATIENCE);
    loop {
        let Some(is_held) = is_held_by_other(&path)? else { return Ok(None) };
        let holder = Holder::read(&path);
        if let Some(attached) = Attached::to(data_dir, &holder)? {
            return Ok(Some(attached));
        }
        if !is_held {
            return Ok(None);
        }
        deadline.pause(|| format!("the server of {holder}")).await?;
    }
}

/// Attaches to the server on `data_dir` whose process has ended, if others still use it.
pub async fn attach_to_left(data_dir: &Path) -> Result<Option<Attached>, Error> {
    let path = file_in(data_dir);
    match is_held_by_other(&path)? {
        Some(false) => left(data_dir, &Holder::read(&path)).await,
        _ => Ok(None),
    }
}

/// Attaches to a server whose process has ended, unless no process uses it, so that it is stopped in a moment.
async fn left(data_dir: &Path, holder: &Holder) -> Result<Option<Attached>, Error> {
    let deadline = Deadline::after(MAX_LEAVING);
    // Dropped at once: while this process is attached to it, it is not stopped.
    while Attached::to(data_dir, holder)?.is_some() {
        if deadline.pause(String::new).await.is_err() {
            return Attached::to(data_dir, holder);
        }
    }
    Ok(None)
}

/// Returns whether another process holds the lock; `None` if there has never been a server.
fn is_held_by_other(path: &Path) -> Result<Option<bool>, Error> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => {
            let file = opened.map_err(Error::file("open", path))?;
            is_held(file.try_lock_shared(), path).map(Some)
        }
    }
}

fn file_in(data_dir: &Path) -> PathBuf {
    data_dir.join("local-mongod.lock")
}

fn is_held(attempt: Result<(), TryLockError>, path: &Path) -> Result<bool, Error> {
    match attempt {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(source)) => Err(Error::file("lock", path)(source)),
    }
}
