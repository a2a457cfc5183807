//! An agent of the Agent Client Protocol (ACP) on standard input and output: a client such as an editor starts it.

mod agent;
mod chats;
mod fit;
mod lenient;
mod live;
mod proxy;
mod rpc;
mod updates;

use std::ffi::OsString;
use std::time::Duration;

use records::{AppId, UserId, WorkflowName};

use crate::backend::Backend;
use crate::settings::Settings;
use chats::Chats;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  reprise acp acme_corp\n  \
                        reprise acp acme_corp --user alice -- claude-code-acp\n\n\
                        Standard output carries the protocol only; everything else is on standard error.")]
pub(crate) struct Arguments {
    /// The app of the sessions.
    app: String,
    /// The person who owns new sessions and says what is prompted.
    #[arg(long)]
    user: Option<String>,
    /// The workflow of new sessions.
    #[arg(long, value_name = "NAME", default_value = "chat")]
    workflow: String,
    /// Another agent, and its arguments: it is sent the prompts, and what it answers is stored.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Serves the protocol until standard input ends, or the process is told to stop.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<()> {
    let app_id = AppId::parse(&arguments.app)?;
    let user_id = arguments.user.as_deref().map(UserId::parse).transpose()?;
    let workflow_name = WorkflowName::parse(&arguments.workflow)?;
    let read_timeout = Duration::from_millis(settings.limits.request_timeout_ms);
    Backend::with_store(settings, async |store| {
        let chats = Chats { store: store.clone(), app_id, user_id, workflow_name, read_timeout };
        match arguments.command.split_first() {
            None => agent::serve(&chats).await,
            Some((program, arguments)) => proxy::serve(&chats, program, arguments).await,
        }
    })
    .await
}
