//! The options of a caller.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::environment;

/// The places to search for a mongod binary, in the order of the fields.
#[derive(Clone, Debug, Default)]
pub struct Lookup {
    /// This binary and no other.
    pub mongod: Option<PathBuf>,
    /// Directories to search, separated as in `PATH`.
    pub search_path: Option<OsString>,
    /// The directory of fetched binaries; by default the user's cache directory.
    pub cache_dir: Option<PathBuf>,
    /// Shows the progress of a download on standard error, besides the log.
    pub show_progress: bool,
}

impl Lookup {
    /// Reads `MONGOD`, `PATH` and `LOCAL_MONGOD_CACHE`.
    pub fn from_env() -> Self {
        Self {
            mongod: environment::mongod(),
            search_path: environment::search_path(),
            cache_dir: environment::cache_dir(),
            show_progress: true,
        }
    }
}

/// The options with which a server is started.
///
/// ```
/// use local_mongod::Options;
///
/// let options = Options { data_dir: Some("./data".into()), ..Options::from_env() };
/// assert_eq!(options.members, 1);
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The source of the binary.
    pub lookup: Lookup,
    /// Members of the replica set, 1 to 7.
    pub members: u8,
    /// A directory that outlives the server; without it a temporary one is made and removed.
    pub data_dir: Option<PathBuf>,
    /// Port of the first member, the others follow it; without it free ports are chosen.
    pub port: Option<u16>,
    /// `WiredTiger` cache of each member, in gigabytes.
    pub cache_size_gb: f64,
    /// Size of each member's oplog, in megabytes.
    pub oplog_size_mb: u32,
    /// Requires credentials, and gives them to a user who may read and write this database only. Without
    /// it, every account of this machine may do everything.
    pub credentials_for: Option<String>,
    /// Enables fail points and other commands that only tests may use.
    pub test_commands: bool,
    /// Further arguments for each mongod, such as `--syncdelay`; a parameter that is set here is not
    /// set otherwise.
    pub extra_arguments: Vec<String>,
    /// The longest wait until the set has a primary and all its secondaries.
    pub start_timeout: Duration,
}

impl Options {
    /// One member on a temporary directory, with the binary that the environment names.
    pub fn from_env() -> Self {
        Self {
            lookup: Lookup::from_env(),
            members: 1,
            data_dir: None,
            port: None,
            cache_size_gb: 0.25,
            oplog_size_mb: 512,
            credentials_for: None,
            test_commands: false,
            extra_arguments: Vec::new(),
            start_timeout: Duration::from_mins(1),
        }
    }

    /// The same with test commands and a small oplog, for many databases that come and go.
    pub fn for_tests() -> Self {
        Self { oplog_size_mb: 50, test_commands: true, ..Self::from_env() }
    }
}
