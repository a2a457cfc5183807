//! Requests to stop, received by this process and passed to the command.

/// A request to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Signal {
    Interrupt,
    #[cfg(unix)]
    Terminate,
}

#[cfg(unix)]
pub(crate) use unix::Signals;

#[cfg(unix)]
mod unix {
    use std::io::{self, IsTerminal};

    use rustix::io::Errno;
    use rustix::process::{self, Pid};
    use tokio::signal::unix::{SignalKind, signal};

    use super::Signal;

    /// Receives the requests, which then no longer end this process.
    pub(crate) struct Signals {
        interrupt: tokio::signal::unix::Signal,
        terminate: tokio::signal::unix::Signal,
    }

    impl Signals {
        pub(crate) fn listen() -> io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
            })
        }

        pub(crate) async fn next(&mut self) -> Signal {
            tokio::select! {
                _ = self.interrupt.recv() => Signal::Interrupt,
                _ = self.terminate.recv() => Signal::Terminate,
            }
        }
    }

    impl Signal {
        /// Gives the signal to a child that may just have ended.
        pub(crate) fn forward(self, child: Option<u32>) -> io::Result<()> {
            let signal = match self {
                // Ctrl-C at a terminal reaches the child as well.
                Self::Interrupt if io::stdin().is_terminal() => return Ok(()),
                Self::Interrupt => process::Signal::INT,
                Self::Terminate => process::Signal::TERM,
            };
            let child = child.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
            match child.map_or(Ok(()), |pid| process::kill_process(pid, signal)) {
                Ok(()) | Err(Errno::SRCH) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
    }
}

/// Ctrl-C is all there is, and it reaches the child without help.
#[cfg(not(unix))]
pub(crate) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    pub(crate) async fn next(&mut self) -> Signal {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Signal::Interrupt
    }
}

#[cfg(not(unix))]
impl Signal {
    pub(crate) fn forward(self, _child: Option<u32>) -> std::io::Result<()> {
        Ok(())
    }
}
