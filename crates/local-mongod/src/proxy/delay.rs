use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::{command_key, has_command};

/// The requests that a proxy delays.
#[derive(Debug, Default)]
pub(super) struct Delayed(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    command: Vec<u8>,
    wanted: usize,
    /// One sender for each delayed request. It tells the connection to send the request, and passes the sender that
    /// reports the reply.
    waiting: Vec<oneshot::Sender<oneshot::Sender<()>>>,
}

impl Delayed {
    pub(super) fn begin(&self, command: &str, times: usize) {
        let mut inner = self.inner();
        inner.command = command_key(command);
        inner.wanted = times;
    }

    /// Returns whether to delay this request.
    pub(super) fn takes(&self, request: &[u8]) -> bool {
        let mut inner = self.inner();
        let is_taken = inner.wanted > 0 && has_command(request, &inner.command);
        inner.wanted -= usize::from(is_taken);
        is_taken
    }

    /// Waits until the delayed request is to be sent. The caller reports the reply to the returned sender.
    pub(super) async fn wait(&self) -> oneshot::Sender<()> {
        let (sender, receiver) = oneshot::channel();
        self.inner().waiting.push(sender);
        match receiver.await {
            Ok(executed) => executed,
            // The proxy was dropped, so its connections end as well.
            Err(_) => std::future::pending().await,
        }
    }

    /// Lets the connections send their delayed requests. Returns how many were answered.
    pub(super) async fn deliver(&self) -> usize {
        let waiting = mem::take(&mut self.inner().waiting);
        let mut answered = 0;
        for delayed in waiting {
            let (executed, is_executed) = oneshot::channel();
            if delayed.send(executed).is_ok() && is_executed.await.is_ok() {
                answered += 1;
            }
        }
        answered
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
