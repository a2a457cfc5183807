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
