use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use anyhow::Context as _;
use indicatif::ProgressBar;
use persistence::mongo::{ArchivedDocument, MongoStore, Workflow};
use persistence::{AuditLog as _, BoxError, StoreError};
use records::{Actor, AppId, AuditAction, ChatId, Clock as _, SystemClock};
use serde_json::{Value, json};

use crate::backend::{Backend, expect_app};
use crate::commands::import::ARCHIVE_VERSION;
use crate::output::{Stdout, stdout};
use crate::progress;
use crate::settings::Settings;
use crate::terminal::safe_json;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The archive has everything about the chats, purged ones too, the wallets and the assistants of the \
                        app: it is for another database, see `reprise import archive`. Its last line has \"record\": \"end\": an archive without it \
                        is incomplete. Example:\n  reprise export app acme_corp > acme_corp.ndjson"
)]
pub(crate) struct AppArguments {
    /// The app.
    app: AppId,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Of a fork, the chats whose messages it shares are exported as well. The last line has \"record\": \"end\": an \
                        archive without it is incomplete. Example:\n  \
                        reprise export chat acme_corp chat_abc123 > chat_abc123.ndjson"
)]
pub(crate) struct ChatArguments {
    /// The app the chat belongs to.
    app: AppId,
    /// The chat.
    chat: ChatId,
}

/// Chats in one page of the list.
const PAGE: u32 = 1_000;

/// Prints the archive of an app.
pub(crate) async fn run_app(arguments: &AppArguments, settings: &Settings) -> anyhow::Result<()> {
    let AppArguments { app } = arguments;
    let export = async |store: &MongoStore| {
        expect_app(store, Some(app)).await?;
        let mut archive = Writer::begin(store, app, None).await?;
        store.archive_app(app, &mut |document| archive.add(&document)).await?;
        for workflow in store.counted_workflows(Some(app)).await? {
            let mut after = None;
            loop {
                let page = store.chats_to_archive(&workflow, after.as_ref(), PAGE).await?;
                for (_, chat_id) in &page {
                    archive.chat(store, &workflow, chat_id).await?;
                }
                after = page.into_iter().next_back();
                if after.is_none() {
                    break;
                }
            }
        }
        archive.end()
    };
    Backend::with_store(settings, export).await.context("cannot export")
}

/// Prints the archive of a chat.
pub(crate) async fn run_chat(arguments: &ChatArguments, settings: &Settings) -> anyhow::Result<()> {
    let ChatArguments { app, chat } = arguments;
    let export = async |store: &MongoStore| {
        let shared = store.shared_with(app, chat).await?;
        let shared = shared.ok_or_else(|| StoreError::ChatNotFound(chat.clone()))?;
        let mut archive = Writer::begin(store, app, Some(chat)).await?;
        for chat_id in shared.iter().chain([chat]) {
            let workflow = store.workflow_of(app, chat_id).await?;
            let workflow = workflow.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
            archive.chat(store, &workflow, chat_id).await?;
        }
        archive.end()
    };
    Backend::with_store(settings, export).await.context("cannot export")
}

/// Writes an archive to standard output.
struct Writer {
    out: BufWriter<Stdout>,
    bar: ProgressBar,
    chats: u64,
    documents: BTreeMap<&'static str, u64>,
}

impl Writer {
    /// Writes the first line.
    async fn begin(store: &MongoStore, app: &AppId, chat: Option<&ChatId>) -> anyhow::Result<Self> {
        let (actor, action) = (Actor::command_line(), AuditAction::ExportChats);
        store.record_action(&actor, Some(app), chat, action).await?;
        let format = store.format_status().await?.stored;
        let bar = progress::counter("chats")?;
        let out = BufWriter::new(stdout());
        let mut archive = Self { out, bar, chats: 0, documents: BTreeMap::new() };
        archive.line(&json!({
            "record": "archive", "version": ARCHIVE_VERSION, "format": format, "app_id": app, "chat_id": chat,
            "exported_at": SystemClock.now().to_rfc3339(),
        }))?;
        Ok(archive)
    }

    /// Writes a chat. One that was never there, or whose creation was rolled back, is left out.
    async fn chat(
        &mut self,
        store: &MongoStore,
        workflow: &Workflow,
        chat_id: &ChatId,
    ) -> anyhow::Result<()> {
        self.line(&json!({ "record": "chat", "chat_id": chat_id }))?;
        store.archive_chat(workflow, chat_id, &mut |document| self.add(&document)).await?;
        self.chats += 1;
        self.bar.inc(1);
        Ok(())
    }

    fn add(&mut self, archived: &ArchivedDocument) -> Result<(), BoxError> {
        let ArchivedDocument { collection, document } = archived;
        *self.documents.entry(collection).or_default() += 1;
        let line = json!({ "record": "document", "collection": collection, "document": document });
        Ok(self.line(&line)?)
    }

    /// Writes the last line.
    fn end(mut self) -> anyhow::Result<()> {
        let end = json!({ "record": "end", "chats": self.chats, "documents": self.documents });
        self.line(&end)?;
        self.bar.finish_and_clear();
        Ok(self.out.flush()?)
    }

    fn line(&mut self, line: &Value) -> io::Result<()> {
        writeln!(self.out, "{}", safe_json(&line.to_string()))
    }
}
