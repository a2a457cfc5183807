//! Files that only their owner may read.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use crate::Error;

/// Writes a file that only its owner may read, or replaces it.
///
/// The file is complete and private from the moment at which it has its name, also after a crash.
pub(crate) fn write(path: &Path, content: &str) -> Result<(), Error> {
    let failed = || Error::file("write", path);
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    // Created with mode 600, whatever the umask.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed())?;
    file.write_all(content.as_bytes()).map_err(failed())?;
    file.as_file().sync_all().map_err(failed())?;
    file.persist(path).map_err(|error| failed()(error.error))?;
    sync(folder).map_err(failed())
}

/// Returns the content of a file, or `None` if there is no file or if other accounts may read it.
pub(crate) fn read_private(path: &Path) -> Result<Option<String>, Error> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file("read", path)(error)),
        Ok(found) if is_private(&found) => {
            fs::read_to_string(path).map(Some).map_err(Error::file("read", path))
        }
        Ok(_) => Ok(None),
    }
}

#[cfg(unix)]
fn is_private(file: &fs::Metadata) -> bool {
    const OTHERS: u32 = 0o077;
    std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & OTHERS == 0
}

#[cfg(not(unix))]
fn is_private(_: &fs::Metadata) -> bool {
    true
}

/// Makes the names in a directory durable.
#[cfg(unix)]
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync(_: &Path) -> io::Result<()> {
    Ok(())
}
