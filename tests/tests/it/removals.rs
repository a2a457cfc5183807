//! Chats are archived, deleted, restored, purged and erased while others write to them at two services that are killed.
//! In the end every chat is wholly there or wholly gone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::env;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::TryStreamExt as _;
use mongodb::bson::{DateTime, Document, doc};
use reqwest::Method;
use serde_json::{Value, json};
use tests::binary::{run, told};
use tests::client::{APP, CallError, Client};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::{until, until_within};
use tokio::sync::{RwLock, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

const WRITERS: usize = 8;
const PERSONS: usize = 6;
/// The persons who are erased, one after the other.
const ERASED: usize = 2;
/// The chats in which most is written.
const CHATS: usize = 10;

/// How long the services are killed; `.ci/long removals` takes longer.
fn duration() -> Duration {
    let seconds = env::var_os("REMOVALS_SEC").and_then(|seconds| seconds.to_str()?.parse().ok());
    Duration::from_secs(seconds.unwrap_or(15))
}

fn person(number: usize) -> String {
    format!("person-{number}-end")
}

/// An acknowledged message.
#[derive(Debug)]
struct Said {
    chat_id: String,
    event_id: String,
    text: String,
}

/// What all callers share.
#[derive(Debug)]
struct World {
    services: Vec<watch::Receiver<Client>>,
    chats: Mutex<Vec<String>>,
    said: Mutex<Vec<Said>>,
    /// The messages that were edited or deleted.
    changed: Mutex<HashSet<(String, u64)>>,
    /// The persons who are erased, or will be. No caller writes as one of them any more.
    erased: RwLock<HashSet<usize>>,
    is_over: AtomicBool,
    next_id: AtomicUsize,
}

fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes on what a caller may be told: that the chat is gone, changed or held meanwhile, or that a service is down.
fn lenient(answer: Result<Value, CallError>) -> Result<Option<Value>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(CallError::Refused(problem)) if [404, 409, 412].contains(&problem.status) => Ok(None),
        Err(error) if error.may_pass() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl World {
    fn client(&self) -> Client {
        self.services[fastrand::usize(..self.services.len())].borrow().clone()
    }

    fn id(&self) -> String {
        format!("id-{}", self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns a chat: often one of the newest, which still exist.
    fn chat(&self) -> String {
        let chats = held(&self.chats);
        let from = if fastrand::bool() { chats.len().saturating_sub(CHATS) } else { 0 };
        chats[fastrand::usize(from..chats.len())].clone()
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Option<Value>> {
        let path = format!("/api/chats/{APP}{path}");
        let answer = lenient(self.client().call(method.clone(), &path, body).await);
        answer.with_context(|| format!("{method} {path}"))
    }

    async fn create(&self, owner: usize) -> Result<()> {
        let chat_id = self.id();
        let title = format!("title of {}", person(owner));
        let new = json!({
            "chat_id": chat_id, "workflow_name": "Generator", "user_id": person(owner), "title": title,
        });
        if self.call(Method::POST, "", Some(&new)).await?.is_some() {
            held(&self.chats).push(chat_id);
        }
        Ok(())
    }

    /// Writes as one person, unless the person is erased.
    async fn write_once(&self) -> Result<()> {
        let author = fastrand::usize(..PERSONS);
        // An erasure begins between calls of its person, not during one.
        let erased = self.erased.read().await;
        if erased.contains(&author) {
            return Ok(());
        }
        let chat_id = self.chat();
        match fastrand::usize(..16) {
            0 => self.create(author).await,
            1..8 => self.append(&chat_id, author).await,
            8..10 => {
                let sequence = fastrand::u64(..20);
                let edit = json!({ "content": format!("edited in {chat_id}") });
                held(&self.changed).insert((chat_id.clone(), sequence));
                let path = format!("/{chat_id}/messages/{sequence}");
                self.call(Method::PATCH, &path, Some(&edit)).await.map(drop)
            }
            10 => {
                let sequence = fastrand::u64(..20);
                held(&self.changed).insert((chat_id.clone(), sequence));
                let path = format!("/{chat_id}/messages/{sequence}");
                self.call(Method::DELETE, &path, None).await.map(drop)
            }
            11..13 => self.fork(&chat_id, author).await,
            13 => self.turn(&chat_id, author).await,
            14 => {
                let call = json!({ "call_id": self.id(), "agent": "planner", "prompt_tokens": 3 });
                self.call(Method::POST, &format!("/{chat_id}/calls"), Some(&call)).await.map(drop)
            }
            _ => {
                let context = json!({ "of": chat_id, "large": "x".repeat(5_000) });
                self.call(Method::PUT, &format!("/{chat_id}/context"), Some(&context))
                    .await
                    .map(drop)
            }
        }
    }

    fn message(&self, author: usize) -> (String, String, Value) {
        let (event_id, text) = (self.id(), format!("said by {}", person(author)));
        let author = json!({ "user_id": person(author) });
        let message =
            json!({ "role": "user", "event_id": event_id, "content": text, "author": author });
        (event_id, text, message)
    }

    async fn append(&self, chat_id: &str, author: usize) -> Result<()> {
        // Sometimes enough messages for a segment.
        let count = if fastrand::u8(..8) == 0 { 50 } else { fastrand::usize(1..4) };
        let (said, messages): (Vec<_>, Vec<_>) = (0..count)
            .map(|_| {
                let (event_id, text, message) = self.message(author);
                (Said { chat_id: chat_id.to_owned(), event_id, text }, message)
            })
            .unzip();
        let path = format!("/{chat_id}/messages");
        let body = json!({ "messages": messages });
        if self.call(Method::POST, &path, Some(&body)).await?.is_some() {
            held(&self.said).extend(said);
        }
        Ok(())
    }

    async fn fork(&self, source: &str, owner: usize) -> Result<()> {
        let chat_id = self.id();
        let fork = json!({ "chat_id": chat_id, "user_id": person(owner) });
        if self.call(Method::POST, &format!("/{source}/fork"), Some(&fork)).await?.is_some() {
            held(&self.chats).push(chat_id);
        }
        Ok(())
    }

    async fn turn(&self, chat_id: &str, author: usize) -> Result<()> {
        let (_, _, mut message) = self.message(author);
        if let Some(message) = message.as_object_mut() {
            message.remove("event_id");
        }
        let step = json!({ "type": "llm", "status": "failed", "stack_id": "s", "error": "broke" });
        let turn = json!({
            "request_id": self.id(), "outcome": "failed", "messages": [message], "steps": [step],
        });
        self.call(Method::POST, &format!("/{chat_id}/turns"), Some(&turn)).await.map(drop)
    }

    async fn remove_once(&self) -> Result<()> {
        let chat_id = self.chat();
        let (method, path) = match fastrand::usize(..12) {
            0..3 => (Method::POST, format!("/{chat_id}/archive")),
            3..6 => (Method::DELETE, format!("/{chat_id}")),
            6..11 => (Method::POST, format!("/{chat_id}/undelete")),
            _ => (Method::DELETE, format!("/{chat_id}?purge=true")),
        };
        self.call(method, &path, None).await.map(drop)
    }

    /// Begins the erasure of a person, in whose name no caller writes any more.
    async fn erase(&self, person_number: usize) -> Result<()> {
        self.erased.write().await.insert(person_number);
        let begin = json!({ "user_id": person(person_number) });
        let path = format!("/api/apps/{APP}/erasures");
        until("the erasure to begin", async || {
            lenient(self.client().call(Method::POST, &path, Some(&begin)).await)
        })
        .await
        .map(drop)
    }
}

/// Repeats something until it is over.
fn repeat<F>(tasks: &mut JoinSet<Result<()>>, world: &Arc<World>, act: fn(Arc<World>) -> F)
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let world = Arc::clone(world);
    tasks.spawn(async move {
        while !world.is_over.load(Ordering::Relaxed) {
            act(Arc::clone(&world)).await?;
        }
        Ok(())
    });
}

#[tokio::test]
async fn every_chat_is_wholly_there_or_wholly_gone() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let mut services = [Service::start(&settings).await?, Service::start(&settings).await?];
    let (at, services_seen): (Vec<_>, Vec<_>) = services
        .iter()
        .map(|service| anyhow::Ok(watch::channel(service.client()?)))
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .unzip();
    let world = Arc::new(World {
        services: services_seen,
        chats: Mutex::default(),
        said: Mutex::default(),
        changed: Mutex::default(),
        erased: RwLock::default(),
        is_over: AtomicBool::new(false),
        next_id: AtomicUsize::new(0),
    });
    for owner in 0..PERSONS {
        world.create(owner).await?;
    }
    let mut tasks = JoinSet::new();
    for _ in 0..WRITERS {
        repeat(&mut tasks, &world, |world| async move { world.write_once().await });
    }
    repeat(&mut tasks, &world, |world| async move { world.remove_once().await });
    let rounds = 2 * ERASED;
    for round in 0..rounds {
        sleep(duration() / u32::try_from(rounds)?).await;
        if round % 2 == 0 {
            world.erase(round / 2).await?;
        }
        // In the middle of whatever it does.
        let one = round % services.len();
        let killed = std::mem::replace(&mut services[one], Service::start(&settings).await?);
        at[one].send(services[one].client()?)?;
        killed.kill().await?;
    }
    world.is_over.store(true, Ordering::Relaxed);
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    let client = services[0].client()?;
    finish(&database, &settings).await?;
    check(&world, &client, &database).await?;
    for of in ["stats", "wallets"] {
        let verified = told(&run(&[of, "verify"], &settings).await?)?;
        ensure!(verified.contains(" 0 differences"), "{verified}");
    }
    for service in services {
        service.stop().await?;
    }
    Ok(())
}

/// Waits until the erasures are finished, and lets the time pass after which a purge looks for late records.
async fn finish(database: &Database, settings: &Settings) -> Result<()> {
    let erasures = database.raw().collection::<Document>("erasures");
    // An erasure searches all chats twice, and there are the more of them the longer the writers have written.
    let patience = Duration::from_mins(5).max(duration() * 10);
    until_within(patience, "the erasures to be finished", async || {
        Ok(erasures
            .find_one(doc! { "user_id": { "$exists": true } })
            .await?
            .is_none()
            .then_some(()))
    })
    .await?;
    let sessions = database.raw().collection::<Document>("chat_sessions");
    let due = doc! { "$set": { "purge_again_at": DateTime::from_millis(0) } };
    sessions.update_many(doc! { "purge_again_at": { "$exists": true } }, due).await?;
    let purged = run(&["purge"], settings).await?;
    ensure!(purged.status.success(), "{}", String::from_utf8_lossy(&purged.stderr));
    Ok(())
}

/// Reads every chat, and every document of the persons who were erased.
async fn check(world: &World, client: &Client, database: &Database) -> Result<()> {
    let chats = held(&world.chats).clone();
    let sessions = database.raw().collection::<Document>("chat_sessions");
    let mut there: HashMap<String, BTreeMap<String, Value>> = HashMap::new();
    let mut gone = 0;
    for chat_id in &chats {
        let session = sessions.find_one(doc! { "_id": chat_id }).await?;
        let session = session.with_context(|| format!("{chat_id} has no document"))?;
        let chat = client.chat(chat_id);
        match session.get_i32("lifecycle").unwrap_or_default() {
            4 => {
                gone += 1;
                ensure!(chat.get("meta").await.is_err(), "{chat_id} was purged and is shown");
                no_records(database, chat_id).await?;
                continue;
            }
            3 => drop(chat.post("undelete", &json!({})).await),
            _ => {}
        }
        let messages = chat.messages().await.with_context(|| format!("reading {chat_id}"))?;
        let last = session.get_i64("last_sequence")?;
        ensure!(i64::try_from(messages.len())? == last, "{chat_id} has lost messages");
        let stored = database.stored_event_ids(chat_id).await;
        let is_shared = session.get_array("bases").is_ok_and(|bases| !bases.is_empty());
        ensure!(is_shared || stored.is_ok(), "{stored:?}");
        let mut by_id = BTreeMap::new();
        for (sequence, message) in messages.into_iter().enumerate() {
            ensure!(message["sequence"] == sequence, "{chat_id}: {message}");
            let id = message["event_id"].as_str().context("no id")?.to_owned();
            ensure!(by_id.insert(id, message).is_none(), "{chat_id} has a message twice");
        }
        there.insert(chat_id.clone(), by_id);
    }
    let said = std::mem::take(&mut *held(&world.said));
    let changed = held(&world.changed).clone();
    let mut kept = 0;
    for Said { chat_id, event_id, text } in &said {
        let Some(messages) = there.get(chat_id) else { continue };
        let message = messages.get(event_id).with_context(|| format!("{event_id} was lost"))?;
        let sequence = message["sequence"].as_u64().context("no sequence")?;
        let is_erased = (0..ERASED).any(|erased| text.contains(&person(erased)));
        if is_erased {
            ensure!(message["content"].is_null(), "{chat_id}: {message}");
        } else if !changed.contains(&(chat_id.clone(), sequence)) {
            ensure!(message["content"] == **text, "{chat_id}: {message}");
            kept += 1;
        }
    }
    ensure!(kept > 0 && gone > 0, "{kept} messages kept, {gone} chats gone: nothing was shown");
    no_traces(database).await
}

/// Of a purged chat only the numbers and what forks show remain.
async fn no_records(database: &Database, chat_id: &str) -> Result<()> {
    for name in ["chat_blobs", "context_snapshots", "input_requests", "resume_points"] {
        let records = database.raw().collection::<Document>(name);
        let left = records.find_one(doc! { "_id.chat_id": chat_id }).await?;
        ensure!(left.is_none(), "{chat_id} was purged and has {left:?} in {name}");
    }
    let segments = database.raw().collection::<Document>("chat_segments");
    if segments.find_one(doc! { "_id.chat_id": chat_id }).await?.is_some() {
        let sessions = database.raw().collection::<Document>("chat_sessions");
        let shown = doc! { "bases.chat_id": chat_id };
        let fork = sessions.find_one(shown).await?;
        ensure!(fork.is_some(), "{chat_id} was purged, and no chat shows its segments");
    }
    Ok(())
}

/// Nothing names the persons who were erased.
async fn no_traces(database: &Database) -> Result<()> {
    for name in database.raw().list_collection_names().await? {
        let mut all = database.raw().collection::<Document>(&name).find(doc! {}).await?;
        while let Some(document) = all.try_next().await? {
            let text = document.to_string();
            for erased in 0..ERASED {
                ensure!(!text.contains(&person(erased)), "{name}: {document}");
            }
        }
    }
    Ok(())
}
