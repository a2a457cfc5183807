//! What mongod said, for an error message.

use std::fs;
use std::path::{Path, PathBuf};

const LINES: usize = 5;

/// Where a member writes its log.
pub(crate) fn path(dbpath: &Path) -> PathBuf {
    dbpath.join("mongod.log")
}

/// Puts the log of the last run aside, so that the log is of this run and does not grow for ever.
pub(crate) fn rotate(dbpath: &Path) {
    // There is none on the first run, and a run with a longer log is better than no run.
    let _ = fs::rename(path(dbpath), dbpath.join("mongod.previous.log"));
}

/// The last lines that are errors, or the last lines if none is.
pub(crate) fn tail(dbpath: &Path) -> String {
    let content = fs::read(path(dbpath)).unwrap_or_default();
    let text = String::from_utf8_lossy(&content);
    let errors: Vec<_> = text.lines().filter(|line| is_error(line)).collect();
    let lines = if errors.is_empty() { text.lines().collect() } else { errors };
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// Errors (E), fatal errors (F), and what was said before logging began.
fn is_error(line: &str) -> bool {
    !line.starts_with('{') || line.contains(r#""s":"E""#) || line.contains(r#""s":"F""#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_prefers_errors() -> anyhow::Result<()> {
        let dir = tempfile::tempdir()?;
        let info = r#"{"s":"I","msg":"starting"}"#;
        fs::write(path(dir.path()), format!("{info}\n"))?;
        assert_eq!(tail(dir.path()), info);

        let error = r#"{"s":"E","msg":"no"}"#;
        fs::write(path(dir.path()), format!("{info}\n{error}\n{info}\n"))?;
        assert_eq!(tail(dir.path()), error);
        Ok(())
    }

    #[test]
    fn a_log_that_does_not_exist_has_an_empty_tail() {
        assert_eq!(tail(Path::new("/does/not/exist")), "");
    }
}
