//! A backup that is made while chats are written, and what it holds when it is restored.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use local_mongod::{LocalMongod, Options};
use mongodb::bson::doc;
use persistence::{
    Billing, Calls as _, ChatSessions as _, Forks as _, Messages as _, StoreError, Wallets as _,
};
use records::{
    CallId, ChatId, EntryId, EventId, IdError, MessageBody, MessageEdit, MicroDollars, Model,
    NewChatSession, NewFork, NewMessage, NewProviderCall, NewWalletEntry, Scope, UserId,
    WorkflowName,
};
use tests::binary::{run, told};
use tests::client::APP;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::archive::verify;
use super::{Place, text};

const WRITERS: usize = 4;

/// Writers that append, edit, fork, record calls and pay, each in a chat of its own, until they are told to stop.
struct Load {
    is_over: Arc<AtomicBool>,
    /// How many messages of each chat were acknowledged.
    acknowledged: Vec<Arc<AtomicU64>>,
    writers: JoinSet<Result<()>>,
}

impl Load {
    async fn start(place: &Place) -> Result<Self> {
        place.store.ensure_wallet(&place.scope, &payer()?, 0).await?;
        let is_over = Arc::new(AtomicBool::new(false));
        let acknowledged: Vec<_> = (0..WRITERS).map(|_| Arc::default()).collect();
        let mut writers = JoinSet::new();
        for (number, acknowledged) in acknowledged.iter().enumerate() {
            let writer = Writer {
                store: place.store.clone(),
                scope: place.scope.clone(),
                chat_id: chat_of(number)?,
                acknowledged: Arc::clone(acknowledged),
            };
            let is_over = Arc::clone(&is_over);
            writers.spawn(async move { writer.run(&is_over).await });
        }
        Ok(Self { is_over, acknowledged, writers })
    }

    fn acknowledged(&self) -> Vec<u64> {
        self.acknowledged.iter().map(|count| count.load(Ordering::SeqCst)).collect()
    }

    /// Returns when each writer has had this many more messages acknowledged.
    async fn go_on(&mut self, more: u64) -> Result<()> {
        let before = self.acknowledged();
        let is_behind = |(now, before): (u64, &u64)| now < before + more;
        while self.acknowledged().into_iter().zip(&before).any(is_behind) {
            if let Some(ended) = self.writers.try_join_next() {
                ended??;
                bail!("a writer has ended");
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    async fn stop(mut self) -> Result<Vec<u64>> {
        self.is_over.store(true, Ordering::SeqCst);
        while let Some(written) = self.writers.join_next().await {
            written??;
        }
        Ok(self.acknowledged())
    }
}

fn chat_of(number: usize) -> Result<ChatId, IdError> {
    ChatId::parse(format!("chat_{number}"))
}

fn payer() -> Result<UserId, IdError> {
    UserId::parse("zoe")
}

struct Writer {
    store: persistence::mongo::MongoStore,
    scope: Scope,
    chat_id: ChatId,
    acknowledged: Arc<AtomicU64>,
}

impl Writer {
    async fn run(&self, is_over: &AtomicBool) -> Result<()> {
        let new = NewChatSession {
            chat_id: Some(self.chat_id.clone()),
            ..NewChatSession::of(WorkflowName::parse("Generator")?)
        };
        self.store.create_chat(&self.scope, new).await?;
        for number in 0.. {
            if is_over.load(Ordering::SeqCst) {
                break;
            }
            while let Err(error) = self.write(number).await {
                // The server waits while its files are copied; a client sends the same again.
                ensure!(is_for_a_while(&error), error);
                sleep(Duration::from_millis(50)).await;
            }
            // The backup has to end at some time, too.
            sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    async fn write(&self, number: u64) -> Result<()> {
        let Self { store, scope, chat_id, acknowledged } = self;
        let body = MessageBody::new("user", None, format!("message {number}"));
        let event_id = EventId::parse(format!("event_{number}")).ok();
        let message = NewMessage { event_id, ..body.into() };
        store.append(scope, chat_id, vec![message]).await?;
        acknowledged.fetch_max(number + 1, Ordering::SeqCst);
        match number % 60 {
            5 | 25 | 45 => {
                let content = Some("edited".into());
                let edit = MessageEdit { content, ..MessageEdit::default() };
                store.update_message(scope, chat_id, number / 2, edit).await?;
            }
            10 => {
                let id = ChatId::parse(format!("{chat_id}_fork_{number}")).ok();
                let sequence = Some(number / 2);
                let fork = NewFork { chat_id: id, sequence, ..NewFork::default() };
                store.fork_chat(scope, chat_id, fork).await?;
            }
            15 | 35 | 55 => {
                let calls = vec![call(&format!("{chat_id}_{number}"))];
                store.record_calls(scope, chat_id, calls, Billing::Free).await?;
                let entry_id = EntryId::parse(format!("{chat_id}_{number}"))?;
                let entry = NewWalletEntry { entry_id, amount: 5, reason: None };
                store.credit(scope, &payer()?, entry).await?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn call(id: &str) -> NewProviderCall {
    NewProviderCall {
        call_id: CallId::parse(id).ok(),
        agent: Some("planner".to_owned()),
        provider_kind: None,
        requested: Model::default(),
        used: Model::default(),
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: None,
        cost: MicroDollars::from_sum(100),
        duration_ms: 20,
        request_id: None,
        called_at: None,
    }
}

fn is_for_a_while(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref();
    matches!(error, Some(StoreError::Unavailable { .. } | StoreError::OutcomeUnknown { .. }))
}

/// Checks that a restored database is whole, and that it has what had been acknowledged before the backup.
async fn is_whole(restored: &Place, before: &[u64], after: &[u64]) -> Result<()> {
    verify(&restored.settings).await?;
    for (number, (before, after)) in before.iter().zip(after).enumerate() {
        let ids = restored.database.stored_event_ids(chat_of(number)?.as_str()).await?;
        let stored = u64::try_from(ids.len())?;
        ensure!((*before..=*after).contains(&stored), "{stored} are not {before} to {after}");
        for (number, id) in ids.iter().enumerate() {
            ensure!(*id == format!("event_{number}"), "{id} has the sequence {number}");
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in from.read_dir()? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target)?;
        } else if !is_of_the_process(&path) {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// Sockets and locks belong to the running server.
fn is_of_the_process(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !path.is_file() || name.ends_with(".lock")
}

#[tokio::test]
async fn files_that_are_copied_under_load_are_a_backup() -> Result<()> {
    let (data, copied) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let options =
        |directory: &Path| Options { data_dir: Some(directory.to_owned()), ..Options::for_tests() };
    let server = LocalMongod::start(options(data.path())).await?;
    let place = Place::on(server.uri()).await?;
    let mut load = Load::start(&place).await?;
    load.go_on(200).await?;

    let before = load.acknowledged();
    let admin = place.database.raw().client().database("admin");
    admin.run_command(doc! { "fsync": 1, "lock": true }).await?;
    copy(data.path(), copied.path())?;
    admin.run_command(doc! { "fsyncUnlock": 1 }).await?;
    load.go_on(20).await?;
    let after = load.stop().await?;

    let restored = LocalMongod::start(options(copied.path())).await?;
    let restored_place = place.at(restored.uri()).await?;
    is_whole(&restored_place, &before, &after).await?;
    is_whole(&place, &after, &after).await?;
    restored.stop().await;
    server.stop().await;
    Ok(())
}

#[tokio::test]
async fn an_export_under_load_is_a_backup_of_an_app() -> Result<()> {
    let (place, restored) = (Place::new().await?, Place::new().await?);
    let mut load = Load::start(&place).await?;
    load.go_on(200).await?;
    let before = load.acknowledged();
    let archive = told(&run(&["export", "app", APP], &place.settings).await?)?;
    load.go_on(20).await?;
    let after = load.stop().await?;
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), archive)?;
    restored.succeed(&["import", "archive", text(file.path())?]).await?;
    is_whole(&restored, &before, &after).await
}
