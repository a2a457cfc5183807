use std::io::Write as _;

use persistence::{Interrupted, Leases as _};

use crate::backend::Backend;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A running service does so by itself every few seconds. Each line names an app, a \
                        chat, and who held its lease until when."
)]
pub(crate) struct Arguments {}

/// How many chats are looked for at a time.
const FOUND: usize = 100;

/// Interrupts every running chat whose lease has run out, and prints them, one a line.
pub(crate) async fn run(settings: &Settings) -> anyhow::Result<()> {
    let backend = Backend::join(settings).await?;
    let swept = sweep(&backend).await;
    backend.close().await;
    swept
}

async fn sweep(backend: &Backend) -> anyhow::Result<()> {
    loop {
        let interrupted = backend.store.interrupt_abandoned(FOUND).await?;
        for chat in &interrupted {
            print(chat)?;
        }
        // Not fewer than asked for: services may have taken some of those that were found.
        if interrupted.is_empty() {
            return Ok(());
        }
    }
}

fn print(chat: &Interrupted) -> anyhow::Result<()> {
    let Interrupted { app_id, chat_id, lease } = chat;
    let until = lease.expires_at.to_rfc3339();
    Ok(writeln!(std::io::stdout(), "{app_id}  {chat_id}  {}  {until}", lease.owner)?)
}
