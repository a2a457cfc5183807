use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context;
use persistence::AuditLog as _;
use persistence::mongo::{FinishedUpgrade, FormatStatus, MongoStore};
use records::{Actor, AuditAction};
use serde_json::json;

use crate::backend::Backend;
use crate::output::{Output, stdout};
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without --finish it changes nothing and says what is pending. Services may go on \
                  meanwhile. Exits with 1 if the database is at a newer format than this release \
                  knows. Examples:\n  reprise upgrade\n  reprise upgrade --finish"
)]
pub(crate) struct Arguments {
    /// Let this release write what older releases cannot read. Stop every process of an older
    /// release first: there is no way back. Safe to repeat.
    #[arg(long)]
    finish: bool,
    #[command(flatten)]
    output: Output,
}

/// Says how far an upgrade of the database is, or finishes it.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let done = async |store: &MongoStore| {
        if arguments.finish {
            finish(arguments.output, store).await.context("cannot finish the upgrade")
        } else {
            show(arguments.output, store).await.context("cannot read the format of the database")
        }
    };
    Backend::with_store(settings, done).await
}

async fn show(output: Output, store: &MongoStore) -> anyhow::Result<ExitCode> {
    let FormatStatus { stored, newest, pending } = store.format_status().await?;
    if output.is_json() {
        let object = json!({ "stored": stored, "newest": newest, "pending": pending });
        output.print(|| object, String::new)?;
        return Ok(if stored > newest { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    }
    let mut out = stdout();
    writeln!(out, "database      format {stored}")?;
    writeln!(out, "this release  format {newest}")?;
    if stored > newest {
        writeln!(out, "the database is newer than this release: upgrade this process")?;
        return Ok(ExitCode::FAILURE);
    }
    if pending.is_empty() {
        writeln!(out, "nothing is pending")?;
    } else {
        writeln!(
            out,
            "pending       {}: refused or left out until the upgrade is finished",
            pending.join(", ")
        )?;
        writeln!(
            out,
            "stop every process of an older release, then run `reprise upgrade --finish`; which \
             processes run is not recorded in the database"
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn finish(output: Output, store: &MongoStore) -> anyhow::Result<ExitCode> {
    store.record_action(&Actor::command_line(), None, None, AuditAction::FinishUpgrade).await?;
    let FinishedUpgrade { from, to, marked, counted } = store.finish_upgrade().await?;
    if output.is_json() {
        let finished = || json!({ "from": from, "to": to, "marked": marked, "counted": counted });
        output.print(finished, String::new)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = stdout();
    if from == to {
        writeln!(out, "the database was at format {to} already")?;
    } else {
        writeln!(out, "the database is at format {to} now, from format {from}")?;
    }
    if marked > 0 {
        writeln!(out, "{marked} chats that share messages were marked for older releases")?;
    }
    if counted > 0 {
        writeln!(out, "the calls of {counted} chats count for their users now")?;
    }
    Ok(ExitCode::SUCCESS)
}
