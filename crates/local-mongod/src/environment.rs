//! The only place that reads environment variables.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// A mongod binary to use instead of any other.
pub(crate) const MONGOD: &str = "MONGOD";
/// The directory of fetched binaries.
pub(crate) const CACHE: &str = "LOCAL_MONGOD_CACHE";
/// The URI of a running server.
pub(crate) const URI: &str = "MONGODB_URI";

pub(crate) fn mongod() -> Option<PathBuf> {
    filled(MONGOD).map(PathBuf::from)
}

pub(crate) fn cache_dir() -> Option<PathBuf> {
    filled(CACHE).map(PathBuf::from)
}

pub(crate) fn search_path() -> Option<OsString> {
    filled("PATH")
}

pub(crate) fn uri() -> Option<String> {
    filled(URI)?.into_string().ok()
}

/// An empty variable counts as one that is not set.
fn filled(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}
