use std::io::Write as _;

use anyhow::ensure;
use records::AppId;

use crate::backend::{Backend, expect_app};
use crate::output::stdout;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each line is a JSON Web Signature. `reprise check --deep --checkpoints FILE` finds chats that do not continue \
                  what the file says: an older copy of the database, for one. Example:\n  \
                  reprise export checkpoints --app acme_corp > acme_corp.checkpoints"
)]
pub(super) struct Arguments {
    /// The app of the chats.
    #[arg(long, value_name = "APP")]
    app: AppId,
}

/// How many checkpoints are read at a time.
const PAGE: usize = 1_000;

pub(super) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<()> {
    ensure!(settings.integrity.key_file.is_some(), "nothing is signed: set integrity.key_file");
    let backend = Backend::join(settings).await?;
    let printed = print(arguments, &backend).await;
    backend.close().await;
    printed
}

async fn print(arguments: &Arguments, backend: &Backend) -> anyhow::Result<()> {
    expect_app(&backend.store, Some(&arguments.app)).await?;
    let mut out = stdout();
    let mut after = None;
    loop {
        let page = backend.store.checkpoints(&arguments.app, after.as_ref(), PAGE).await?;
        for checkpoint in &page {
            writeln!(out, "{}", checkpoint.signed)?;
        }
        match page.last() {
            Some(last) if page.len() == PAGE => after = Some(last.chat_id.clone()),
            _ => return Ok(out.flush()?),
        }
    }
}
