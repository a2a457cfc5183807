//! Signals to a mongod.

use std::io;

/// The signals for a member.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Continue,
    Kill,
    Stop,
    Terminate,
}

#[cfg(unix)]
pub(crate) fn send(pid: u32, kind: Kind) -> io::Result<()> {
    use rustix::process::{Pid, Signal, kill_process};

    let signal = match kind {
        Kind::Continue => Signal::CONT,
        Kind::Kill => Signal::KILL,
        Kind::Stop => Signal::STOP,
        Kind::Terminate => Signal::TERM,
    };
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("not a process id"))?;
    Ok(kill_process(pid, signal)?)
}

#[cfg(not(unix))]
pub(crate) fn send(_: u32, _: Kind) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
