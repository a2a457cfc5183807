//! The shell that supervises one mongod.
//!
//! A process that is killed cannot clean up after itself, so a child does it: the script waits
//! for the end of a pipe of which this process holds the only writing end. The kernel closes
//! that end however this process ends. (Rust opens pipes close-on-exec: no other child keeps it.)
//! Other processes that use the mongod hold a second pipe in the same way, which has a name.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

const SCRIPT: &str = include_str!("supervisor.sh");
/// How long mongod may take to stop after SIGTERM.
const GRACE_SECONDS: &str = "30";
/// How long the script may take to find that no other process uses the mongod.
const MAX_LEAVING: Duration = Duration::from_secs(2);

/// The known state of the mongod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It has not reported yet.
    Starting,
    /// It runs as this process.
    Running(u32),
    /// Its process has left it, and others may use it.
    Left,
    /// No process uses it, and it was told to stop.
    Stopping,
    /// It ended with this exit status and may be started again.
    Exited(i32),
    /// The supervisor itself has exited, and nothing is left.
    Gone,
}

/// One mongod under its shell; dropping this stops both in the background.
#[derive(Debug)]
pub(crate) struct Supervisor {
    orders: ChildStdin,
    status: watch::Receiver<Status>,
}

impl Supervisor {
    /// Starts mongod; `temporary` has its data directory removed in the end.
    pub(crate) fn spawn(
        mongod: &Path,
        arguments: &[OsString],
        dbpath: &Path,
        temporary: bool,
    ) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command
            .args(["-c", SCRIPT, "sh", if temporary { "yes" } else { "no" }, GRACE_SECONDS])
            .arg(dbpath)
            .arg(mongod)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // A Ctrl-C at the terminal must not stop mongod before the program that uses it has finished.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);

        let mut child = command.spawn()?;
        let (Some(orders), Some(events)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the shell has no pipes"));
        };
        let (sender, status) = watch::channel(Status::Starting);
        thread::Builder::new()
            .name("local-mongod".to_owned())
            .spawn(move || report(child, events, &sender))?;
        Ok(Self { orders, status })
    }

    pub(crate) fn status(&self) -> Status {
        *self.status.borrow()
    }

    /// Starts mongod again after it has exited, and waits until it has a process.
    pub(crate) async fn start_again(&self) -> io::Result<()> {
        let mut status = self.status.clone();
        status.mark_unchanged();
        (&self.orders).write_all(b"start\n")?;
        // Fails only when the supervisor is gone, which `status` reports.
        let _ = status.changed().await;
        Ok(())
    }

    /// Waits until mongod has ended by itself.
    pub(crate) async fn exited(&self) {
        let ended = |status: &Status| matches!(status, Status::Exited(_) | Status::Gone);
        let _ = self.status.clone().wait_for(ended).await;
    }

    /// Stops mongod and waits until nothing is left of it; leaves it to other processes that use it.
    pub(crate) async fn stop(self) {
        let Self { orders, mut status } = self;
        drop(orders);
        let has_left = |status: &Status| !matches!(status, Status::Starting | Status::Running(_));
        let _ = status.wait_for(has_left).await;
        let is_stopped = async { status.wait_for(|status| *status != Status::Left).await.is_ok() };
        if timeout(MAX_LEAVING, is_stopped).await.is_err() {
            tracing::info!("other processes use mongod: it stops when the last of them ends");
            return;
        }
        let _ = status.wait_for(|status| *status == Status::Gone).await;
    }
}

/// Passes on the script's messages, until it exits.
///
/// A thread of its own, because a server may outlive the runtime that started it.
fn report(mut child: Child, events: ChildStdout, status: &watch::Sender<Status>) {
    for line in BufReader::new(events).lines().map_while(Result::ok) {
        if let Some(news) = parse(&line) {
            tracing::debug!(event = line, "mongod");
            status.send_replace(news);
        }
    }
    // Only reaps the process; its own status says nothing about mongod.
    let _ = child.wait();
    status.send_replace(Status::Gone);
}

fn parse(event: &str) -> Option<Status> {
    match event.split_once(' ')? {
        ("started", pid) => pid.parse().ok().map(Status::Running),
        ("left", _) => Some(Status::Left),
        ("stopping", _) => Some(Status::Stopping),
        ("exited", status) => status.parse().ok().map(Status::Exited),
        _ => None,
    }
}
