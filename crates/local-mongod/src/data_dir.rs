//! The directory below which each member keeps its data.

use std::fs::{self, DirBuilder};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::credentials::Credentials;
use crate::lock::Lock;

const CREDENTIALS: &str = "credentials";

/// A directory that this process uses exclusively.
#[derive(Debug)]
pub(crate) struct DataDir {
    path: PathBuf,
    /// No other process knows a temporary directory, so it needs no lock.
    lock: Option<Lock>,
}

impl DataDir {
    /// Locks the given directory, or makes a temporary one.
    pub(crate) async fn open(given: Option<&Path>) -> Result<Self, Error> {
        let Some(path) = given else {
            return Self::temporary();
        };
        let path = std::path::absolute(path).map_err(Error::file("resolve", path))?;
        create_private(&path)?;
        let lock = Some(Lock::take(&path).await?);
        Ok(Self { path, lock })
    }

    /// The members' supervisors remove it, because they outlive this process.
    fn temporary() -> Result<Self, Error> {
        let parent = std::env::temp_dir();
        let made = tempfile::Builder::new().prefix("local-mongod-").tempdir_in(&parent);
        let path = made.map_err(Error::file("create a directory in", &parent))?.keep();
        Ok(Self { path, lock: None })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_temporary(&self) -> bool {
        self.lock.is_none()
    }

    /// Returns the credentials of this directory's server, and makes them if there are none.
    ///
    /// No other process uses a temporary directory, so its credentials are in no file.
    pub(crate) fn credentials(&self) -> Result<Credentials, Error> {
        if self.is_temporary() {
            return Credentials::temporary();
        }
        Credentials::open(&self.path.join(CREDENTIALS))
    }

    /// Publishes the URI of this directory's server, and the file of its credentials, to other processes.
    pub(crate) fn publish(&self, uri: &str, credentials: Option<&Path>) -> Result<(), Error> {
        self.lock.as_ref().map_or(Ok(()), |lock| lock.publish(uri, credentials))
    }

    /// Makes and returns the directory of a member.
    pub(crate) fn member(&self, index: u8) -> Result<PathBuf, Error> {
        let path = self.path.join(format!("member-{index}"));
        create_private(&path)?;
        Ok(path)
    }
}

/// Removes a temporary directory for which no supervisor was started, if it is empty.
impl Drop for DataDir {
    fn drop(&mut self) {
        if self.is_temporary() {
            for member in fs::read_dir(&self.path).into_iter().flatten().flatten() {
                let _ = fs::remove_dir(member.path());
            }
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// The port of this member in the replica set of an earlier run.
pub(crate) fn remembered_port(dbpath: &Path) -> Option<u16> {
    fs::read_to_string(port_file(dbpath)).ok()?.trim().parse().ok()
}

pub(crate) fn remember_port(dbpath: &Path, port: u16) -> Result<(), Error> {
    let file = port_file(dbpath);
    fs::write(&file, port.to_string()).map_err(Error::file("write", &file))
}

fn port_file(dbpath: &Path) -> PathBuf {
    dbpath.join("port")
}

fn create_private(path: &Path) -> Result<(), Error> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(Error::file("create", path))
}
