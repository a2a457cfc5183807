use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};

/// How long a connection may wait for the head of a request.
///
/// A client that has begun a head, or that has only just connected, must finish the head within a time. A
/// connection that is kept for later requests may be silent for longer: a service that closes it sooner than
/// the client or a balancer expects loses the request that is being sent at that moment.
///
/// hyper knows one deadline for both, which begins when the last response has ended. It is given that of a silent
/// connection, and the timer replaces it once bytes arrive.
#[derive(Clone, Debug)]
pub(crate) struct HeadTimer {
    header_timeout: Duration,
    connection: Arc<Connection>,
}

#[derive(Debug)]
struct Connection {
    is_new: AtomicBool,
    /// Whether bytes have arrived since the connection began to wait for a head.
    has_begun: AtomicBool,
}

impl HeadTimer {
    /// The timer of one connection.
    pub(crate) fn new(header_timeout: Duration) -> Self {
        let connection =
            Connection { is_new: AtomicBool::new(true), has_begun: AtomicBool::new(false) };
        Self { header_timeout, connection: Arc::new(connection) }
    }

    /// Records that the client has sent something.
    pub(crate) fn bytes_arrived(&self) {
        self.connection.has_begun.store(true, Ordering::Relaxed);
    }
}

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        let is_new = self.connection.is_new.swap(false, Ordering::Relaxed);
        self.connection.has_begun.store(is_new, Ordering::Relaxed);
        let sleep = Box::pin(tokio::time::sleep_until(deadline.into()));
        Box::pin(HeadSleep { timer: self.clone(), has_begun: false, sleep })
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into()
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: Instant) {
        *sleep = self.sleep_until(deadline);
    }
}

struct HeadSleep {
    timer: HeadTimer,
    /// Whether the deadline is that of a head.
    has_begun: bool,
    sleep: Pin<Box<tokio::time::Sleep>>,
}

impl Sleep for HeadSleep {}

impl Future for HeadSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !self.has_begun && self.timer.connection.has_begun.load(Ordering::Relaxed) {
            self.has_begun = true;
            let deadline = tokio::time::Instant::now() + self.timer.header_timeout;
            self.sleep.as_mut().reset(deadline);
        }
        self.sleep.as_mut().poll(cx)
    }
}
