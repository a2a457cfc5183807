//! The index of the search in what was said.

use anyhow::Context;
use clap::Subcommand;
use persistence::AuditLog as _;
use records::{Actor, AppId, AuditAction};
use serde_json::json;

use crate::backend::{Backend, expect_app};
use crate::output::Output;
use crate::progress;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Write the search index of an app anew.
    #[command(
        after_help = "Services may run meanwhile, and searches go on. A running service keeps the index up to date by \
                            itself. Example:\n  reprise search rebuild --app acme_corp"
    )]
    Rebuild(RebuildArguments),
}

#[derive(Debug, clap::Args)]
struct RebuildArguments {
    /// The app.
    #[arg(long, value_name = "APP")]
    app: AppId,
    #[command(flatten)]
    output: Output,
}

/// Runs a command on the search index.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<()> {
    let Verb::Rebuild(arguments) = &arguments.verb;
    rebuild(arguments, settings).await
}

async fn rebuild(arguments: &RebuildArguments, settings: &Settings) -> anyhow::Result<()> {
    let app_id = &arguments.app;
    let backend = Backend::join(settings).await?;
    let bar = progress::bar("chats")?;
    let store = &backend.store;
    let rebuilt = async {
        expect_app(store, Some(app_id)).await?;
        let actor = Actor::command_line();
        store.record_action(&actor, Some(app_id), None, AuditAction::RebuildSearch).await?;
        bar.set_length(store.count_searched_chats(app_id).await?);
        Ok(store.rebuild_search(app_id, &|chats| bar.inc(chats)).await?)
    };
    let rebuilt: anyhow::Result<()> = rebuilt.await;
    let chats = bar.position();
    bar.finish_and_clear();
    backend.close().await;
    rebuilt.context("cannot rebuild the search index")?;
    arguments
        .output
        .print(|| json!({ "app_id": app_id, "chats": chats }), || format!("{chats} chats indexed"))
}
