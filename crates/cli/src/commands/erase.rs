use std::process::ExitCode;

use anyhow::Context as _;
use persistence::mongo::MongoStore;
use persistence::{Erasures as _, StoreError};
use records::{Actor, AppId, Erasure, UserId};
use service::ReceiptSigner;

use crate::backend::{Backend, expect_app};
use crate::output::Output;
use crate::progress;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The chats of the person are purged, also as forks show them. In chats of others their messages, answers and \
                        names go. Their documents and assistants are deleted, and their wallet gets a pseudonym. Chats under hold are \
                        left and listed, and the exit code is 1. It can be broken off and repeated; a running service goes on with it. Export what is stored \
                        about the person before, and revoke their tokens, because what they write meanwhile may remain. Example:\n  \
                        reprise erase --app acme_corp --user alice"
)]
pub(crate) struct Arguments {
    /// The app.
    #[arg(long, value_name = "APP")]
    app: AppId,
    /// The person.
    #[arg(long, value_name = "USER")]
    user: UserId,
    #[command(flatten)]
    output: Output,
}

/// The chats of one step.
const STEP: usize = 100;

/// Erases a person from an app, and prints the receipt.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let signer = ReceiptSigner::new(&settings.erasure)?;
    let erasing = Backend::with_store(settings, async |store| erase(arguments, store).await);
    let erasure = erasing.await.context("cannot erase")?;
    let (text, is_whole) = (text(&erasure), erasure.held.is_empty());
    arguments.output.print(|| service::responses::erasure(erasure, &signer), || text)?;
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn erase(arguments: &Arguments, store: &MongoStore) -> anyhow::Result<Erasure> {
    let (app_id, actor) = (&arguments.app, Actor::command_line());
    expect_app(store, Some(app_id)).await?;
    let mut erasure = store.begin_erasure(&actor, app_id, &arguments.user).await?;
    let bar = progress::counter("chats searched")?;
    while erasure.finished_at.is_none() {
        let pseudonym = erasure.pseudonym;
        let next = store.continue_erasure(app_id, pseudonym, STEP).await?;
        erasure = next.ok_or(StoreError::ErasureNotFound(pseudonym))?;
        bar.set_position(erasure.searched);
    }
    bar.finish_and_clear();
    Ok(erasure)
}

fn text(erasure: &Erasure) -> String {
    let first = format!("erased; from now on {}{}", Erasure::PREFIX, erasure.pseudonym);
    let erased = erasure.erased.iter();
    let erased = erased.map(|(kind, count)| format!("{count:>8}  {}", kind.replace('_', " ")));
    let held = erasure.held.iter();
    let held = held.map(|chat_id| format!("left, because it is under hold: {chat_id}"));
    let is_nothing = erasure.held.is_empty() && erasure.erased.values().all(|count| *count == 0);
    let nothing = is_nothing.then(|| {
        format!(
            "nothing of this person was found, in {} chats: check --app, --user and the database, unless that is what you expect",
            erasure.searched
        )
    });
    [first].into_iter().chain(erased).chain(held).chain(nothing).collect::<Vec<_>>().join("\n")
}
