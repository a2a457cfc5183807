//! Chats move in and out through files.

mod ag2;
mod archive;
mod backup;
mod documented;
mod json;
mod jsonl;
mod messages;
mod mongo;

pub(crate) use archive::moves_whole;

use std::io::{self, Write as _};
use std::path::Path;
use std::process::Output;

use anyhow::{Context as _, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::TryStreamExt as _;
use persistence::mongo::{MongoOptions, MongoStore};
use persistence::{Messages as _, Store as _, ToolRunFilter, ToolRuns as _, Transcript};
use records::{AppId, ChatId, Message, Scope, ToolRun};
use serde_json::Value;
use tests::binary::run;
use tests::client::APP;
use tests::database::Database;
use tests::settings::Settings;

/// A database, and the commands on it.
struct Place {
    database: Database,
    settings: Settings,
    store: MongoStore,
    scope: Scope,
}

impl Place {
    async fn new() -> Result<Self> {
        Self::of(Database::create().await?).await
    }

    /// A database on a server for this test alone.
    async fn on(uri: &str) -> Result<Self> {
        Self::of(Database::on(uri).await?).await
    }

    /// The database with the same name on another server.
    async fn at(&self, uri: &str) -> Result<Self> {
        Self::of(self.database.at(uri).await?).await
    }

    async fn of(database: Database) -> Result<Self> {
        let options = MongoOptions::new(database.uri(), database.name());
        let store = MongoStore::connect(&options).await?;
        store.ping().await?;
        let scope = Scope::service(AppId::parse(APP)?).finding_deleted();
        Ok(Self { settings: Settings::of(&database), database, store, scope })
    }

    /// Runs a command, and returns the numbers that it prints, what it says on standard error, and its exit code.
    async fn run(&self, arguments: &[&str]) -> Result<(Value, String, Option<i32>)> {
        let Output { status, stdout, stderr } =
            run(&[arguments, &["--json"]].concat(), &self.settings).await?;
        let said = String::from_utf8(stderr)?;
        let numbers = serde_json::from_slice(&stdout).with_context(|| said.clone())?;
        Ok((numbers, said, status.code()))
    }

    /// Runs a command that succeeds and says nothing else.
    async fn succeed(&self, arguments: &[&str]) -> Result<Value> {
        let (numbers, said, code) = self.run(arguments).await?;
        assert_eq!((said.as_str(), code), ("", Some(0)), "{arguments:?}");
        Ok(numbers)
    }

    /// Returns all messages of a chat, however many.
    async fn messages_of(&self, chat_id: &str) -> Result<Vec<Message>> {
        self.messages_in(&self.scope, &ChatId::parse(chat_id)?).await
    }

    async fn messages_in(&self, scope: &Scope, chat_id: &ChatId) -> Result<Vec<Message>> {
        Ok(self.store.history(scope, chat_id).try_collect().await?)
    }

    /// Returns the runs of the tools of a chat, newest first.
    async fn tool_runs(&self, chat_id: &ChatId) -> Result<Vec<ToolRun>> {
        let all = ToolRunFilter::default();
        let page = self.store.list_tool_runs(&self.scope, chat_id, &all, 1_000, None).await?;
        assert_eq!(page.next, None);
        Ok(page.runs)
    }

    async fn messages(&self, chat_id: &ChatId) -> Result<Vec<Message>> {
        let range = persistence::MessageRange::all();
        let Transcript { messages, has_more, .. } =
            self.store.messages(&self.scope, chat_id, range).await?;
        assert!(!has_more);
        Ok(messages)
    }
}

/// Compresses a text as gzip does.
fn compressed(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text)?;
    encoder.finish()
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is no text")
}
