//! Work on large data, away from the threads that serve requests.
//!
//! The store decodes what it reads with the same permits with which the service renders and writes it.

use std::panic::resume_unwind;
use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;

use tokio::sync::{Semaphore, oneshot};
use tokio::task::spawn_blocking;

/// Work on more bytes than this would delay other requests by more than about a millisecond.
const LARGE_BYTES: usize = 64 << 10;

/// One piece of large work for each processor; further ones wait.
static PERMITS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    Arc::new(Semaphore::new(available_parallelism().map_or(1, std::num::NonZero::get)))
});

/// Does work on `bytes` bytes: at once if they are few, otherwise on a thread for such work.
pub async fn offload<T, F>(bytes: usize, work: F) -> T
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    if bytes <= LARGE_BYTES {
        return work();
    }
    let (sender, result) = oneshot::channel();
    on_thread(Box::new(move || drop(sender.send(work())))).await;
    match result.await {
        Ok(result) => result,
        // The runtime is shutting down, and drops this future too.
        Err(_) => std::future::pending().await,
    }
}

/// Does work on a thread for it, when one is free. It is compiled once and not for each kind of work.
async fn on_thread(work: Box<dyn FnOnce() + Send>) {
    let permit = Arc::clone(&PERMITS).acquire_owned().await;
    let working = spawn_blocking(move || {
        // Held until the work is done, also for a caller that has left.
        let _permit = permit;
        work();
    });
    if let Err(error) = working.await
        && error.is_panic()
    {
        resume_unwind(error.into_panic());
    }
}
