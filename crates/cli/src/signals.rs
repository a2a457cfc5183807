use std::io;

use futures::future::select_all;
use tokio::signal::unix::{SignalKind, signal};

/// Waits until the process gets one of these signals.
pub(crate) async fn any_of(kinds: &[SignalKind]) -> io::Result<()> {
    let signals = kinds.iter().map(|kind| signal(*kind));
    let mut signals = signals.collect::<io::Result<Vec<_>>>()?;
    select_all(signals.iter_mut().map(|signal| Box::pin(signal.recv()))).await;
    Ok(())
}

/// Waits until the process is told to stop; forever if signals cannot be heard.
pub(crate) async fn told_to_stop() {
    let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    if any_of(&kinds).await.is_err() {
        std::future::pending::<()>().await;
    }
}
