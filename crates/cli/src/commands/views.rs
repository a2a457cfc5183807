//! The read-only views for readers that know `MozaiksAI`'s database.

use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;
use persistence::Store as _;
use persistence::mongo::{MongoStore, ViewReport, ViewState};
use serde_json::json;

use crate::backend::Backend;
use crate::output::Output;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create the views, and replace those of other releases.
    #[command(
        after_help = "Services may run meanwhile. Safe to repeat. Exits with 1 if a collection \
                            has the name of a view. Example:\n  reprise views create --dry-run"
    )]
    Create(VerbArguments),
    /// Drop the views. No data are in them.
    #[command(
        after_help = "Services may run meanwhile. Safe to repeat. Example:\n  reprise views drop"
    )]
    Drop(VerbArguments),
}

#[derive(Debug, clap::Args)]
struct VerbArguments {
    /// Change nothing; print what would be done.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: Output,
}

/// Runs a command on the views.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let done = async |store: &MongoStore| match &arguments.verb {
        Verb::Create(arguments) => create(arguments, store).await,
        Verb::Drop(arguments) => drop_all(arguments, store).await,
    };
    Backend::with_store(settings, done).await
}

async fn create(arguments: &VerbArguments, store: &MongoStore) -> anyhow::Result<ExitCode> {
    // In an empty database the views would look like traces of an older release.
    store.ping().await?;
    let found =
        if arguments.dry_run { store.inspect_views().await } else { store.create_views().await };
    let found = found.context("cannot create the views")?;
    print(arguments, &found, |state| match state {
        ViewState::Missing => "created",
        ViewState::Outdated => "replaced",
        ViewState::Current => "unchanged",
        ViewState::Taken => "not created: a collection has this name",
    })?;
    let is_taken = found.iter().any(|view| view.state == ViewState::Taken);
    Ok(if is_taken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn drop_all(arguments: &VerbArguments, store: &MongoStore) -> anyhow::Result<ExitCode> {
    let found =
        if arguments.dry_run { store.inspect_views().await } else { store.drop_views().await };
    print(arguments, &found.context("cannot drop the views")?, |state| match state {
        ViewState::Current | ViewState::Outdated => "dropped",
        ViewState::Missing => "does not exist",
        ViewState::Taken => "not dropped: it is a collection",
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a line for each view: what is done with it, or would be.
fn print(
    arguments: &VerbArguments,
    found: &[ViewReport],
    done: impl Fn(ViewState) -> &'static str,
) -> anyhow::Result<()> {
    let mode = if arguments.dry_run { " (dry run)" } else { "" };
    for ViewReport { name, source, state } in found {
        let outcome = done(*state);
        let object = || {
            json!({
                "view": name, "source": source, "found": state.as_str(), "outcome": outcome,
                "dry_run": arguments.dry_run,
            })
        };
        arguments.output.print(object, || format!("{name}: {outcome}{mode}"))?;
    }
    Ok(())
}
