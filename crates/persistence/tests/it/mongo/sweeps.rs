//! Sweeps continue after records that they cannot handle.

use std::sync::Arc;
use std::time::Duration;

use bson::{DateTime, Document, RawDocumentBuf, doc};
use chrono::{TimeDelta, Utc};
use persistence::{
    ChatSessions, InputRequests, Leases, Messages, Search, WebhookEvents, apply_retention, sign_all,
};
use records::{
    Actor, ChatId, ChatStatus, Clock, InputKind, JsonObject, NewInputRequest, NewLease, Owner,
    Question, Retention, SystemClock, Uuid7Ids,
};
use store_contract::metrics::count;

use super::database::Database;
use super::faults::{chat, numbered, scope};

const WEBHOOK_EVENTS: &str = "webhook_events";
const DUE_AT: &str = "due_at";

/// A clock that stands still until `later` advances it by an hour.
#[derive(Debug, Default)]
struct ManualClock(std::sync::atomic::AtomicI64);

impl ManualClock {
    fn later(&self) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> chrono::DateTime<Utc> {
        let hours = self.0.load(std::sync::atomic::Ordering::Relaxed);
        chrono::DateTime::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::hours(hours)
    }
}

async fn database() -> (Arc<ManualClock>, Database) {
    let clock = Arc::new(ManualClock::default());
    let ids = Arc::new(Uuid7Ids);
    (Arc::clone(&clock), Database::create_from(clock, ids, |_| {}).await)
}

/// Copies the only document of a collection, with some fields changed.
async fn copy(database: &Database, collection: &str, id: impl Into<bson::Bson>, change: Document) {
    let original: &RawDocumentBuf = &database.all(collection).await[0];
    let mut copy = Document::try_from(original).unwrap();
    copy.insert("_id", id);
    copy.extend(change);
    database.insert(collection, copy).await;
}

fn long_ago(seconds: i64) -> DateTime {
    DateTime::from_chrono(chrono::DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds))
}

async fn ask(database: &Database, chat_id: &ChatId) {
    let question = Question {
        prompt: "Go on?".to_owned(),
        agent: None,
        kind: InputKind::Text,
        options: Vec::new(),
        tool_call: None,
        metadata: JsonObject::new(),
    };
    let new = NewInputRequest { request_id: None, question, expires_in_sec: Some(60) };
    database.request_input(&scope(), chat_id, new).await.unwrap();
}

#[tokio::test]
async fn a_request_that_cannot_be_closed_does_not_block_others() {
    let (clock, database) = database().await;
    let chat_id = chat(&database).await;
    ask(&database, &chat_id).await;
    // The longest overdue requests are an invalid one, one of a missing chat, and one of an app
    // without a name.
    let id = |request: &str| doc! { "chat_id": chat_id.as_str(), "request_id": request };
    let gone = doc! { "chat_id": "chat_gone", "request_id": "in_gone" };
    let nothing = doc! { "prompt": bson::Bson::Null, "expires_at": long_ago(1) };
    copy(&database, "input_requests", id("in_nothing"), nothing).await;
    copy(&database, "input_requests", gone, doc! { "expires_at": long_ago(2) }).await;
    let no_app = doc! { "app_id": "", "expires_at": long_ago(3) };
    copy(&database, "input_requests", id("in_no_app"), no_app).await;

    clock.later();
    assert_eq!(database.expire_input_requests(0).await.unwrap(), 0, "a limit of 0 handles nothing");
    assert_eq!(
        database.get_chat(&scope(), &chat_id).await.unwrap().unwrap().status,
        ChatStatus::Paused
    );
    assert_eq!(database.expire_input_requests(1).await.unwrap(), 1);
    let chat = database.get_chat(&scope(), &chat_id).await.unwrap().unwrap();
    assert_eq!((chat.status, chat.pending_inputs.len()), (ChatStatus::Running, 0));
    let failures =
        count(&database.store, "reprise_store_sweep_failures_total", &["input_requests"]);
    assert_eq!(failures, 3);
    assert_eq!(
        database.expire_input_requests(100).await.unwrap(),
        0,
        "the invalid requests stay unchanged"
    );
}

#[tokio::test]
async fn a_chat_that_cannot_be_interrupted_does_not_block_others() {
    let (clock, database) = database().await;
    let chat_id = chat(&database).await;
    let owner = Owner::parse("worker_1").unwrap();
    let lease = NewLease { lease_id: None, owner, ttl: Duration::from_mins(1) };
    database.acquire_lease(&scope(), &chat_id, lease).await.unwrap();
    let nothing = doc! {
        "workflow_name": bson::Bson::Null,
        "lease": { "lease_id": "l", "owner": "o", "fencing_token": 1_i64, "expires_at": long_ago(1) },
    };
    copy(&database, "chat_sessions", "chat_nothing", nothing).await;

    clock.later();
    assert!(
        database.interrupt_abandoned(0).await.unwrap().is_empty(),
        "a limit of 0 handles nothing"
    );
    let interrupted = database.interrupt_abandoned(1).await.unwrap();
    assert_eq!(interrupted.len(), 1);
    assert_eq!(interrupted[0].chat_id, chat_id);
    let failures = count(&database.store, "reprise_store_sweep_failures_total", &["leases"]);
    assert_eq!(failures, 1);
}

#[tokio::test]
async fn a_webhook_event_that_cannot_be_read_does_not_hold_up_the_others() {
    let (clock, database) = database().await;
    let chat_id = chat(&database).await;
    database.set_status(&scope(), &chat_id, ChatStatus::Completed, None).await.unwrap();
    // The events that are due the longest lack a field, have a status that does not exist, are of a later release, and have
    // an id and a number of another type.
    let id = |event: &str| doc! { "chat_id": chat_id.as_str(), "event_id": event };
    let nothing = doc! { "workflow_name": bson::Bson::Null, DUE_AT: long_ago(1) };
    copy(&database, WEBHOOK_EVENTS, id("nothing"), nothing).await;
    copy(&database, WEBHOOK_EVENTS, id("status"), doc! { "status": 9, DUE_AT: long_ago(2) }).await;
    let later_release = doc! { "schema_version": 1_000_i64, DUE_AT: long_ago(3) };
    copy(&database, WEBHOOK_EVENTS, id("later"), later_release).await;
    let odd = doc! { "attempts": "many", DUE_AT: [long_ago(4)] };
    copy(&database, WEBHOOK_EVENTS, "no id of an event", odd).await;
    let failures =
        || count(&database.store, "reprise_store_sweep_failures_total", &["webhook_events"]);
    let claim = async |limit| {
        let claimed = database.claim_webhook_events(limit, Duration::from_secs(10)).await.unwrap();
        claimed.into_iter().map(|event| (event.chat_id, event.attempts)).collect::<Vec<_>>()
    };

    assert_eq!(claim(0).await, [], "a limit of 0 claims nothing");
    assert_eq!(claim(1).await, [(chat_id.clone(), 1)]);
    assert_eq!(failures(), 4);
    assert_eq!(claim(100).await, []);
    assert_eq!(failures(), 4, "they are not looked at again at once");
    clock.later();
    assert_eq!(claim(100).await, [(chat_id.clone(), 2)]);
    assert_eq!(failures(), 8);
    assert_eq!(database.all(WEBHOOK_EVENTS).await.len(), 5, "they are kept until they expire");
}

#[tokio::test]
async fn a_chat_that_is_not_understood_keeps_no_other_one_waiting() {
    let database = Database::create_unsealed().await;
    let (odd, sound) = (chat(&database).await, chat(&database).await);
    for chat_id in [&odd, &sound] {
        database.append(&scope(), chat_id, numbered("ids", 3)).await.unwrap();
        database.set_status(&scope(), chat_id, ChatStatus::Completed, None).await.unwrap();
    }
    let failures = |sweep| count(&database.store, "reprise_store_sweep_failures_total", &[sweep]);
    let set = async |fields: Document| {
        let sessions = database.raw.collection::<RawDocumentBuf>("chat_sessions");
        let one = doc! { "_id": odd.as_str() };
        sessions.update_one(one, doc! { "$set": fields }).await.unwrap();
    };

    let chats = [odd.clone(), sound.clone()];
    // The counters are read first, and then more of the session.
    let whole = doc! { "context_version": "many" };
    for (fields, before) in [(doc! { "revision": "many" }, 0), (whole.clone(), 1)] {
        set(fields).await;
        assert_eq!(failures("search_index"), before);
        assert_eq!(database.index_chats(&chats).await.unwrap(), []);
        assert_eq!(failures("search_index"), before + 1);
        set(doc! { "revision": 0_i64 }).await;
    }
    assert!(!database.all("search_entries").await.is_empty());

    set(whole).await;
    assert_eq!(sign_all(&*database, None).await.unwrap().chats, 1);
    assert_eq!(failures("integrity"), 1);
    let signed = database.all("integrity_chains").await;
    let signed: Vec<_> = signed.iter().map(|chain| chain.get_str("_id").unwrap()).collect();
    assert_eq!(signed, [sound.as_str()]);

    set(doc! { "workflow_name": 5 }).await;
    let retention = Retention { completed_days: 1, ..Retention::default() };
    let (app_id, actor) = (&scope().app_id, Actor::command_line());
    let later = SystemClock.now() + TimeDelta::days(2);
    let mut purged = Vec::new();
    let mut note = |due: persistence::DueChat| purged.push(due.chat.chat_id);
    let done = apply_retention(&*database, &actor, app_id, &retention, later, &mut note).await;
    assert_eq!(done.unwrap().purged, 1);
    assert_eq!(purged, [sound]);
    assert!(failures("purges") > 0);
}
