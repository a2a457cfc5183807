//! Chats under hold, which are never purged.

use clap::Subcommand;
use persistence::mongo::MongoStore;
use persistence::{AuditLog as _, Purges as _, StoreError};
use records::{Actor, AppId, AuditAction, ChatId, Hold};

use crate::backend::{Backend, expect_app};
use crate::output::Output;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A chat under hold is neither purged nor erased until its hold is lifted. Examples:\n  \
                  reprise holds list --app acme_corp\n  \
                  reprise holds put --app acme_corp chat_abc123 --reason \"dispute 7\"\n  \
                  reprise holds lift --app acme_corp chat_abc123"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    output: Output,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the chats of an app that are under hold, one on each line.
    List {
        /// The app.
        #[arg(long, value_name = "APP")]
        app: AppId,
    },
    /// Put a chat under hold, or change the reason of its hold.
    Put {
        /// The app of the chat.
        #[arg(long, value_name = "APP")]
        app: AppId,
        /// The chat.
        chat: ChatId,
        /// Why, for operators; at most 1,000 characters.
        #[arg(long)]
        reason: String,
    },
    /// Lift the hold of a chat. If the chat is due, it is purged soon.
    Lift {
        /// The app of the chat.
        #[arg(long, value_name = "APP")]
        app: AppId,
        /// The chat.
        chat: ChatId,
    },
}

/// Holds in one page.
const PAGE: usize = 1_000;

/// Runs a command on the holds of chats.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<()> {
    Backend::with_store(settings, async |store| execute(arguments, store).await).await
}

async fn execute(arguments: &Arguments, store: &MongoStore) -> anyhow::Result<()> {
    let Arguments { output, verb } = arguments;
    let actor = Actor::command_line();
    match verb {
        Verb::List { app } => list(*output, store, app).await,
        Verb::Put { app, chat, reason } => {
            let hold = store.set_hold(&actor, app, chat, Some(reason)).await?;
            let hold = hold.ok_or_else(|| StoreError::ChatNotFound(chat.clone()))?;
            print(*output, chat.clone(), hold)
        }
        Verb::Lift { app, chat } => Ok(store.set_hold(&actor, app, chat, None).await.map(drop)?),
    }
}

async fn list(output: Output, store: &MongoStore, app_id: &AppId) -> anyhow::Result<()> {
    expect_app(store, Some(app_id)).await?;
    store
        .record_registry_read(&Actor::command_line(), Some(app_id), AuditAction::ListHolds)
        .await?;
    let mut after = None;
    loop {
        let page = store.list_holds(app_id, PAGE, after.as_ref()).await?;
        for (chat_id, hold) in page.holds {
            print(output, chat_id, hold)?;
        }
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}

fn print(output: Output, chat_id: ChatId, hold: Hold) -> anyhow::Result<()> {
    let text = format!("{chat_id}  {}  {}", hold.since.to_rfc3339(), hold.reason);
    output.print(|| service::responses::held_chat(chat_id, hold), || text)
}
