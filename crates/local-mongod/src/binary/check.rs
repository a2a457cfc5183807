//! Checks whether a binary runs on this machine.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Error;

/// Runs `mongod --version`, which needs every shared library that mongod needs.
pub(super) fn runs(path: &Path) -> Result<(), Error> {
    let fails = |output: String| Error::DoesNotRun { path: path.to_owned(), output };
    let attempt = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| fails(error.to_string()))?;
    if attempt.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&attempt.stderr);
    Err(fails(format!("{} ({})", said.trim(), attempt.status)))
}
