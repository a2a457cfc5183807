//! The end of mongod's log, for error messages.

use std::fs;
use std::path::{Path, PathBuf};

const LINES: usize = 5;

/// The log file of a member.
pub(crate) fn path(dbpath: &Path) -> PathBuf {
    dbpath.join("mongod.log")
}

/// Renames the log of the last run, so that the log covers this run only and does not grow for ever.
pub(crate) fn rotate(dbpath: &Path) {
    // The file is missing on the first run, and a failure here must not prevent the start.
    let _ = fs::rename(path(dbpath), dbpath.join("mongod.previous.log"));
}

/// The last lines that are errors, or the last lines if none is. An empty log is worth a sentence, too: that is how a mongod
/// ends that cannot write.
pub(crate) fn tail(dbpath: &Path) -> String {
    let path = path(dbpath);
    let content = fs::read(&path).unwrap_or_default();
    let text = String::from_utf8_lossy(&content);
    if text.trim().is_empty() {
        return format!("there is nothing in {}; the disk may be full", path.display());
    }
    let errors: Vec<_> = text.lines().filter(|line| is_error(line)).collect();
    let lines = if errors.is_empty() { text.lines().collect() } else { errors };
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// Errors (E), fatal errors (F), and output from before logging began.
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
    fn an_empty_log_and_a_missing_one_point_to_a_full_disk() -> anyhow::Result<()> {
        let dir = tempfile::tempdir()?;
        assert!(tail(dir.path()).ends_with("mongod.log; the disk may be full"));
        fs::write(path(dir.path()), "\n")?;
        assert!(tail(dir.path()).ends_with("mongod.log; the disk may be full"));
        Ok(())
    }
}
