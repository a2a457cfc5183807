use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A connection that fails when its client accepts fewer bytes than it must.
///
/// Only the time counts in which the client makes the service wait: a connection without anything to send
/// may be silent for ever. Of that time, the client must accept a number of bytes in each period.
#[derive(Debug)]
pub(crate) struct PacedStream<S> {
    stream: S,
    pace: Pace,
    /// The time of the current period in which the service has waited, before `waiting_since`.
    waited: Duration,
    waiting_since: Option<Instant>,
    /// The bytes accepted in the current period.
    accepted: u64,
    /// Runs out at the end of the current period, if the service waits until then.
    period_end: Pin<Box<Sleep>>,
}

/// How many bytes a client must accept in a period.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) period: Duration,
    pub(crate) min_bytes: u64,
}

impl<S> PacedStream<S> {
    pub(crate) fn new(stream: S, pace: Pace) -> Self {
        let period_end = Box::pin(sleep(pace.period));
        Self { stream, pace, waited: Duration::ZERO, waiting_since: None, accepted: 0, period_end }
    }

    /// Counts what a write has done; fails when a period ends in which the client was too slow.
    fn observe(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            self.accepted += *written.as_ref().unwrap_or(&0) as u64;
            if let Some(since) = self.waiting_since.take() {
                self.waited += since.elapsed();
            }
            return Poll::Ready(written);
        }
        loop {
            if self.waiting_since.is_none() {
                let now = Instant::now();
                self.waiting_since = Some(now);
                let left = self.pace.period.saturating_sub(self.waited);
                self.period_end.as_mut().reset(now + left);
            }
            ready!(self.period_end.as_mut().poll(cx));
            if self.accepted < self.pace.min_bytes {
                let detail = "the client accepts too few bytes of its response";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, detail)));
            }
            (self.waited, self.waiting_since, self.accepted) = (Duration::ZERO, None, 0);
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PacedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.observe(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, buffers);
        self.observe(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PacedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const PACE: Pace = Pace { period: Duration::from_millis(200), min_bytes: 1_000 };

    /// Writes to a reader that takes a number of bytes every 10 ms for two seconds; returns for how long.
    async fn written_for(bytes: usize) -> Duration {
        let (near, mut far) = duplex(100);
        let started = Instant::now();
        let reading = tokio::spawn(async move {
            while started.elapsed() < Duration::from_secs(2) {
                far.read_exact(&mut vec![0; bytes]).await.unwrap();
                sleep(Duration::from_millis(10)).await;
            }
        });
        let mut stream = PacedStream::new(near, PACE);
        while stream.write_all(&[0; 10]).await.is_ok() {}
        reading.abort();
        started.elapsed()
    }

    #[tokio::test]
    async fn a_reader_that_is_too_slow_is_given_up() {
        for bytes in [0, 5] {
            let took = written_for(bytes).await;
            assert!(took < Duration::from_secs(1), "{bytes} bytes: {took:?}");
        }
    }

    #[tokio::test]
    async fn a_reader_that_is_fast_enough_may_take_long() {
        assert!(written_for(500).await >= Duration::from_secs(2));
    }

    #[tokio::test]
    async fn silence_is_no_slowness() {
        let (near, mut far) = duplex(1_000);
        let mut stream = PacedStream::new(near, PACE);
        for _ in 0..3 {
            stream.write_all(&[0; 10]).await.unwrap();
            far.read_exact(&mut [0; 10]).await.unwrap();
            sleep(2 * PACE.period).await;
        }
    }
}
