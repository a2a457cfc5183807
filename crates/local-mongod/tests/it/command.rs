//! The `local-mongod` command.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::{driver, poll};

/// Prints the URI and then waits until its standard input is closed.
const PRINT_AND_WAIT: &str = "echo $MONGODB_URI; exec cat";

fn local_mongod() -> Command {
    Command::new(env!("CARGO_BIN_EXE_local-mongod"))
}

fn run(script: &str) -> Command {
    let mut command = local_mongod();
    command.args(["run", "--", "sh", "-c", script]);
    command
}

/// A running `local-mongod` and the URI it has printed.
struct Running {
    process: Child,
    uri: String,
}

impl Running {
    fn start(mut command: Command) -> Result<Self> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut uri = String::new();
        let output = process.stdout.take().context("no output")?;
        BufReader::new(output).read_line(&mut uri)?;
        Ok(Self { process, uri: uri.trim().to_owned() })
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.process.id())?).context("no process id")?;
        Ok(kill_process(pid, signal)?)
    }

    /// Signals it, and waits until it, its server and the server's data are gone.
    async fn end(mut self, signal: Signal) -> Result<ExitStatus> {
        let (pid, dbpath) = (driver::pid(&self.uri).await?, driver::dbpath(&self.uri).await?);
        ensure!(poll::runs(pid) && dbpath.exists(), "it did not run");
        // Waiting would close its standard input, and so end the command before the signal does.
        let _input = self.process.stdin.take();
        self.signal(signal)?;
        let status = self.process.wait()?;
        poll::until_gone(pid).await?;
        poll::until("the removal of its data", || !dbpath.exists()).await?;
        let parent = dbpath.parent().context("no parent")?;
        poll::until("the removal of its directory", || !parent.exists()).await?;
        Ok(status)
    }
}

#[test]
fn run_exports_the_uri_and_passes_the_exit_code_on() -> Result<()> {
    let Output { status, stdout, .. } = run("echo $MONGODB_URI; exit 42").output()?;
    assert_eq!(status.code(), Some(42));
    let uri = String::from_utf8(stdout)?;
    assert!(uri.starts_with("mongodb://127.0.0.1:") && uri.ends_with("/?replicaSet=rs0\n"));
    Ok(())
}

#[test]
fn run_exits_as_a_shell_does_when_a_signal_ends_the_command() -> Result<()> {
    assert_eq!(run("kill -KILL $$").output()?.status.code(), Some(137));
    Ok(())
}

#[tokio::test]
async fn nothing_is_left_when_the_parent_is_killed() -> Result<()> {
    let status = Running::start(run(PRINT_AND_WAIT))?.end(Signal::KILL).await?;
    assert!(!status.success());
    Ok(())
}

#[tokio::test]
async fn sigterm_goes_to_the_command_first() -> Result<()> {
    let script =
        "trap 'kill $cat; exit 7' TERM; exec 3<&0; cat <&3 & cat=$!; echo $MONGODB_URI; wait";
    let status = Running::start(run(script))?.end(Signal::TERM).await?;
    assert_eq!(status.code(), Some(7));
    Ok(())
}

#[tokio::test]
async fn serve_prints_the_uri_and_stops_when_interrupted() -> Result<()> {
    let mut command = local_mongod();
    command.arg("serve");
    let status = Running::start(command)?.end(Signal::INT).await?;
    assert!(status.success());
    Ok(())
}

#[test]
fn path_prints_a_binary_that_runs() -> Result<()> {
    let output = local_mongod().arg("path").output()?;
    let path = String::from_utf8(output.stdout)?;
    let version = Command::new(path.trim()).arg("--version").output()?;
    assert!(String::from_utf8(version.stdout)?.starts_with("db version"));
    Ok(())
}
