use persistence::mongo::MongoStore;
use persistence::{AuditLog as _, Interrupted, Leases as _};
use records::{Actor, AuditAction};
use serde_json::json;

use crate::backend::Backend;
use crate::output::Output;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A running service does this by itself every few seconds. Each line has the app, the \
                        chat, and the owner and expiry of its lease."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    output: Output,
}

/// Chats in one query.
const FOUND: usize = 100;

/// Pauses every running chat whose lease has expired, and prints one line for each.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<()> {
    Backend::with_store(settings, async |store| sweep(arguments.output, store).await).await
}

async fn sweep(output: Output, store: &MongoStore) -> anyhow::Result<()> {
    store.record_action(&Actor::command_line(), None, None, AuditAction::SweepLeases).await?;
    loop {
        let interrupted = store.interrupt_abandoned(FOUND).await?;
        for chat in &interrupted {
            print(output, chat)?;
        }
        // Ends at an empty query, not at a short one: a service may have paused some of the chats.
        if interrupted.is_empty() {
            return Ok(());
        }
    }
}

fn print(output: Output, chat: &Interrupted) -> anyhow::Result<()> {
    let Interrupted { app_id, chat_id, lease } = chat;
    let until = lease.expires_at.to_rfc3339();
    let object = || json!({ "app_id": app_id, "chat_id": chat_id, "owner": lease.owner, "expires_at": until });
    output.print(object, || format!("{app_id}  {chat_id}  {}  {until}", lease.owner))
}
