use std::io::{BufWriter, Write as _};
use std::pin::pin;
use std::sync::Arc;

use anyhow::Context as _;
use futures::TryStreamExt as _;
use persistence::AuditLog as _;
use persistence::mongo::MongoStore;
use records::{Actor, AppId, AuditAction, Clock as _, SystemClock, UserId};
use service::{Exported, export};

use crate::backend::{Backend, expect_app};
use crate::output::stdout;
use crate::progress;
use crate::settings::Settings;
use crate::terminal::safe_json;

/// Whose data to print.
#[derive(Debug, clap::Args)]
pub(crate) struct Person {
    /// The app.
    #[arg(long, value_name = "APP")]
    app: AppId,
    /// The person.
    #[arg(long, value_name = "USER")]
    user: UserId,
}

/// Prints everything that is stored about a person in an app.
pub(crate) async fn run(arguments: &Person, settings: &Settings) -> anyhow::Result<()> {
    let exporting = Backend::with_store(settings, async |store| print(arguments, store).await);
    exporting.await.context("cannot export")
}

async fn print(arguments: &Person, store: &MongoStore) -> anyhow::Result<()> {
    let Person { app, user } = arguments;
    expect_app(store, Some(app)).await?;
    let (actor, action) = (Actor::command_line(), AuditAction::ExportUser);
    store.record_action(&actor, Some(app), None, action).await?;
    let store = Arc::new(store.clone());
    let mut steps = pin!(export(store, app.clone(), user.clone(), SystemClock.now()));
    let bar = progress::counter("chats searched")?;
    let mut out = BufWriter::new(stdout());
    while let Some(step) = steps.try_next().await? {
        match step {
            Exported::Line(line) => writeln!(out, "{}", safe_json(&line))?,
            Exported::Searched(chats) => bar.set_position(chats),
        }
    }
    bar.finish_and_clear();
    Ok(out.flush()?)
}
