use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

/// The connections that a silence covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// All of them.
    Everyone,
    /// The connections that the member on this port has opened. With test commands enabled, members
    /// identify themselves on each connection.
    Member(u16),
}

/// The sources that are silenced now.
#[derive(Debug, Default)]
pub(super) struct Silence {
    source: watch::Sender<Option<Source>>,
    withheld: AtomicUsize,
}

impl Silence {
    pub(super) fn begin(&self, source: Source) {
        self.withheld.store(0, Ordering::Relaxed);
        self.source.send_replace(Some(source));
    }

    pub(super) fn end(&self) -> usize {
        self.source.send_replace(None);
        self.withheld.load(Ordering::Relaxed)
    }
}

/// One connection, which may go silent.
#[derive(Debug)]
pub(super) struct Line {
    silence: Arc<Silence>,
    /// The port of the member that opened it, if it was one; unknown until the first request.
    member: OnceLock<Option<u16>>,
}

impl Line {
    pub(super) fn of(silence: &Arc<Silence>) -> Self {
        Self { silence: Arc::clone(silence), member: OnceLock::new() }
    }

    /// Learns from the first request which member opened it.
    pub(super) fn note(&self, request: &[u8]) {
        self.member.get_or_init(|| member(request));
    }

    /// Waits while it is silenced.
    pub(super) async fn is_open(&self) {
        let mut source = self.silence.source.subscribe();
        if self.is_silenced(*source.borrow()) {
            self.silence.withheld.fetch_add(1, Ordering::Relaxed);
        }
        // An error would say that the proxy is gone, and its connections with it.
        let _ = source.wait_for(|source| !self.is_silenced(*source)).await;
    }

    fn is_silenced(&self, source: Option<Source>) -> bool {
        match source {
            None => false,
            Some(Source::Everyone) => true,
            Some(Source::Member(port)) => self.member.get() == Some(&Some(port)),
        }
    }
}

/// The port of the member that sent a first request: the end of its string `hostInfo`.
fn member(request: &[u8]) -> Option<u16> {
    const NAME: &[u8] = b"\x02hostInfo\0";
    const LENGTH: usize = 4;
    let start = request.windows(NAME.len()).position(|window| window == NAME)?;
    let value = request.get(start + NAME.len() + LENGTH..)?;
    let host = str::from_utf8(value.split(|byte| *byte == 0).next()?).ok()?;
    host.rsplit_once(':')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_known_by_its_host_info() {
        let request = b"....\x02hostInfo\0\x10\0\0\0myhost:27018\0\x10more\0";
        assert_eq!(member(request), Some(27_018));
        assert_eq!(member(b"\x10hello\0\x01\0\0\0"), None);
    }
}
