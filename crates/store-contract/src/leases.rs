//! Leases: one worker holds the lease, and a worker that lost it writes nothing.

use std::sync::Arc;
use std::time::Duration;

use records::InvalidKind::Value as NotAdmitted;
use records::{
    CallId, ChatStatus, InputRequestId, JsonObject, Lease, LeaseId, MessageBody, MessageEdit,
    NewArtifact, NewInputAnswer, NewInputRequest, NewLease, NewProviderCall, NewTurn, Owner,
    Question, TurnId, TurnMessage, TurnOutcome,
};
use serde_json::json;
use tokio::time::sleep;

use super::fixture::{
    TestChat, assert_invalid, assert_refused, event, message, numbered, object, race,
};
use persistence::{Billing, Interrupted, Outcome, Store, StoreError, Written};

const LONG: Duration = Duration::from_mins(10);
const SHORT: Duration = Lease::MIN_TTL;

pub async fn a_lease_has_one_holder_until_it_is_released(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let first = acquire(&chat, "ann", LONG).await.unwrap();
    assert_eq!((first.owner.as_str(), first.fencing_token), ("ann", 1));
    assert_eq!(chat.session().await.lease.as_ref(), Some(&first));
    let held = StoreError::LeaseHeld { chat_id: chat.id.clone(), lease: Box::new(first.clone()) };
    assert_refused(acquire(&chat, "bob", LONG).await, &held);
    // The owner's name does not identify a lease, because another process may have the same name.
    assert_refused(acquire(&chat, "ann", LONG).await, &held);
    release(&chat, 1).await.unwrap();
    release(&chat, 1).await.unwrap();
    assert_eq!(chat.session().await.lease, None);
    let second = acquire(&chat, "bob", LONG).await.unwrap();
    assert_eq!((second.owner.as_str(), second.fencing_token), ("bob", 2));
    release(&chat, 1).await.unwrap();
    assert_eq!(chat.session().await.lease, Some(second));
}

pub async fn revoking_takes_the_lease_that_was_seen_and_no_later_one(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let first = acquire(&chat, "ann", LONG).await.unwrap();
    let revoke = async |lease: &Lease| {
        store.revoke_lease(&chat.scope, &chat.id, lease.acquired_at).await.unwrap();
    };
    revoke(&first).await;
    assert_eq!(chat.session().await.lease, None);
    let renewed = renew(&chat, first.fencing_token, LONG).await;
    assert!(matches!(renewed, Err(StoreError::Fenced { .. })), "{renewed:?}");
    // A lease of the same millisecond could not be told from it.
    tokio::time::sleep(Duration::from_millis(2)).await;
    let second = acquire(&chat, "bob", LONG).await.unwrap();
    revoke(&first).await;
    assert_eq!(chat.session().await.lease, Some(second));
}

pub async fn acquiring_a_lease_is_safe_to_repeat(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let again = || NewLease { lease_id: Some(LeaseId::parse("l1").unwrap()), ..lease("ann", LONG) };
    let first = store.acquire_lease(&chat.scope, &chat.id, again()).await.unwrap();
    assert_eq!((first.lease_id.as_str(), first.outcome), ("l1", Outcome::Stored));
    let renewed = renew(&chat, 1, LONG * 2).await.unwrap();
    let repeated = store.acquire_lease(&chat.scope, &chat.id, again()).await.unwrap();
    assert_eq!(repeated, Written { record: renewed, outcome: Outcome::Duplicate });
    // The same lease id of another owner names another lease.
    let theirs = || NewLease { owner: Owner::parse("bob").unwrap(), ..again() };
    let refused = store.acquire_lease(&chat.scope, &chat.id, theirs()).await;
    assert!(matches!(refused, Err(StoreError::LeaseHeld { .. })), "{refused:?}");
    release(&chat, 1).await.unwrap();
    // A copy that arrives late takes no lease that its sender would not release.
    let gone = StoreError::Fenced { chat_id: chat.id.clone(), fencing_token: 1 };
    assert_refused(store.acquire_lease(&chat.scope, &chat.id, again()).await, &gone);
    assert_eq!(chat.session().await.lease, None);
    let anew = store.acquire_lease(&chat.scope, &chat.id, theirs()).await.unwrap();
    assert_eq!(anew.fencing_token, 2);
}

pub async fn a_repeated_acquisition_gets_its_expired_lease_until_it_is_taken(
    store: Arc<dyn Store>,
) {
    let chat = TestChat::create(&store).await;
    let again =
        || NewLease { lease_id: Some(LeaseId::parse("l1").unwrap()), ..lease("ann", SHORT) };
    let first = store.acquire_lease(&chat.scope, &chat.id, again()).await.unwrap();
    sleep(SHORT * 2).await;
    let repeated = store.acquire_lease(&chat.scope, &chat.id, again()).await.unwrap();
    assert_eq!(repeated, Written { record: first.record, outcome: Outcome::Duplicate });
    acquire(&chat, "bob", SHORT).await.unwrap();
    sleep(SHORT * 2).await;
    // Only the newest acquisition is kept.
    let anew = store.acquire_lease(&chat.scope, &chat.id, again()).await.unwrap();
    assert_eq!((anew.fencing_token, anew.outcome), (3, Outcome::Stored));
}

pub async fn one_of_32_racing_workers_gets_the_lease(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for round in 1..=3_u64 {
        let rivals = (0..32).map(|rival| {
            let chat = chat.clone();
            async move { acquire(&chat, &format!("rival {rival}"), LONG).await }
        });
        let mut winners = Vec::new();
        let mut shown = Vec::new();
        for answer in race(rivals).await {
            match answer {
                Ok(lease) => winners.push(lease),
                Err(StoreError::LeaseHeld { lease, .. }) => shown.push(*lease),
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!((winners.len(), shown.len()), (1, 31));
        assert!(shown.iter().all(|shown| *shown == winners[0]));
        assert_eq!(winners[0].fencing_token, round);
        release(&chat, round).await.unwrap();
    }
}

/// Every worker acquires the lease, writes and releases it. Some hold it for too long: a worker
/// that lost the lease writes nothing more.
pub async fn messages_of_competing_workers_follow_the_order_of_their_tokens(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let rivals = (0..32_u64).map(|rival| {
        let chat = chat.clone();
        async move {
            let lease = loop {
                match acquire(&chat, &format!("rival {rival}"), SHORT).await {
                    Ok(lease) => break lease,
                    Err(StoreError::LeaseHeld { .. }) => sleep(Duration::from_millis(5)).await,
                    Err(error) => panic!("{error}"),
                }
            };
            let token = lease.fencing_token;
            let mine = under(&chat, token);
            let mut stored = Vec::new();
            for n in 0..4 {
                if rival % 8 == 0 && n == 2 {
                    sleep(SHORT * 2).await;
                }
                match mine.append([message(json!([token, n]))]).await {
                    Ok(append) => stored.push((append.messages[0].sequence, token)),
                    Err(StoreError::Fenced { fencing_token, .. }) => {
                        assert_eq!(fencing_token, token);
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            release(&chat, token).await.unwrap();
            stored
        }
    });
    let mut stored = race(rivals).await.concat();
    stored.sort_unstable();
    assert!(stored.is_sorted_by_key(|(_, token)| *token), "{stored:?}");
    let messages = chat.history().await.unwrap();
    assert_eq!(messages.len(), stored.len());
    assert!(!stored.is_empty());
}

pub async fn an_expired_lease_holds_until_it_is_taken_over(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let lease = acquire(&chat, "ann", SHORT).await.unwrap();
    sleep(SHORT * 2).await;
    under(&chat, 1).append(numbered(0..1)).await.unwrap();
    let renewed = renew(&chat, 1, LONG).await.unwrap();
    assert!(renewed.expires_at > lease.expires_at);
    assert_eq!(renewed, Lease { expires_at: renewed.expires_at, ..lease });
    assert!(matches!(acquire(&chat, "bob", LONG).await, Err(StoreError::LeaseHeld { .. })));

    renew(&chat, 1, SHORT).await.unwrap();
    sleep(SHORT * 2).await;
    let taken_over = acquire(&chat, "bob", LONG).await.unwrap();
    assert_eq!((taken_over.fencing_token, taken_over.owner.as_str()), (2, "bob"));
    assert_refused(renew(&chat, 1, LONG).await, &fenced(&chat, 1));
    under(&chat, 2).append(numbered(1..2)).await.unwrap();
}

pub async fn a_worker_that_lost_the_lease_changes_nothing(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append(numbered(0..3)).await.unwrap();
    chat.replace_context(object(json!({"kept": 1}))).await.unwrap();
    chat.update_artifact(NewArtifact::default()).await.unwrap();
    ask(&chat, "q1").await.unwrap();
    acquire(&chat, "ann", SHORT).await.unwrap();
    sleep(SHORT * 2).await;
    acquire(&chat, "bob", LONG).await.unwrap();
    let before = chat.whole().await;

    let late = under(&chat, 1);
    let fenced = fenced(&chat, 1);
    let edit = MessageEdit { content: Some(json!("new")), ..MessageEdit::default() };
    assert_refused(late.append(numbered(3..5)).await, &fenced);
    assert_refused(late.append([event("e9", "x")]).await, &fenced);
    assert_refused(late.append(numbered(3..90)).await, &fenced);
    assert_refused(late.persist_initial(numbered(7..9)).await, &fenced);
    assert_refused(late.replace_context(JsonObject::new()).await, &fenced);
    assert_refused(late.merge_context(object(json!({"b": 1}))).await, &fenced);
    assert_refused(late.update_artifact(NewArtifact::default()).await, &fenced);
    assert_refused(late.clear_artifact().await, &fenced);
    assert_refused(late.set_status(ChatStatus::Completed, None).await, &fenced);
    assert_refused(late.set_status(ChatStatus::Paused, Some("lunch")).await, &fenced);
    assert_refused(late.update_message(1, edit).await, &fenced);
    assert_refused(late.delete_message(1).await, &fenced);
    assert_refused(ask(&late, "q2").await, &fenced);
    let answered = store.answer_input_request(&late.scope, &late.id, &q("q1"), answer()).await;
    assert_refused(answered, &fenced);
    let cancelled = store.cancel_input_request(&late.scope, &late.id, &q("q1"), None).await;
    assert_refused(cancelled, &fenced);
    assert_eq!(chat.whole().await, before);

    // The holder, and callers without a fencing token, can still write.
    under(&chat, 2).append(numbered(3..4)).await.unwrap();
    chat.append(numbered(4..5)).await.unwrap();
    // Reads need no lease.
    assert_eq!(late.history().await.unwrap().len(), 5);
}

pub async fn edits_of_sealed_messages_are_fenced(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append(numbered(0..3)).await.unwrap();
    chat.append_filler().await;
    let late = under(&chat, 7);
    let edit = MessageEdit { content: Some(json!("new")), ..MessageEdit::default() };
    assert_refused(late.update_message(1, edit).await, &fenced(&chat, 7));
    assert_refused(late.delete_message(1).await, &fenced(&chat, 7));
}

pub async fn repeats_of_a_write_under_a_released_lease_succeed(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    acquire(&chat, "ann", LONG).await.unwrap();
    let mine = under(&chat, 1);
    let first = mine.append([event("e1", "hello")]).await.unwrap();
    release(&chat, 1).await.unwrap();
    let again = mine.append([event("e1", "hello")]).await.unwrap();
    assert_eq!(again.messages[0].sequence, first.messages[0].sequence);
    let more = mine.append([event("e1", "hello"), event("e2", "more")]).await;
    assert_refused(more, &fenced(&chat, 1));
}

pub async fn a_worker_that_lost_the_lease_gets_fenced_before_a_conflict(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    acquire(&chat, "ann", LONG).await.unwrap();
    release(&chat, 1).await.unwrap();
    acquire(&chat, "bob", LONG).await.unwrap();
    let turn = |text: &str| NewTurn {
        request_id: TurnId::parse("r1").unwrap(),
        outcome: TurnOutcome::Completed,
        messages: vec![TurnMessage {
            body: MessageBody::new("assistant", None, text),
            author: None,
        }],
        steps: Vec::new(),
        connector: None,
        mode: None,
    };
    let (early, late) = (under(&chat, 2), under(&chat, 1));
    early.append([event("e1", "bob's")]).await.unwrap();
    store.append_turn(&early.scope, &chat.id, turn("bob's")).await.unwrap();
    ask_as(&early, "q1", "Bob?").await.unwrap();
    let before = chat.whole().await;

    let fenced = fenced(&chat, 1);
    assert_refused(late.append([event("e1", "ann's")]).await, &fenced);
    assert_refused(late.append([event("e0", "ann's"), event("e1", "ann's")]).await, &fenced);
    assert_refused(late.persist_initial([event("e1", "ann's")]).await, &fenced);
    assert_refused(store.append_turn(&late.scope, &chat.id, turn("ann's")).await, &fenced);
    assert_refused(ask_as(&late, "q1", "Ann?").await, &fenced);
    let call = NewProviderCall { call_id: CallId::parse("c1").ok(), ..NewProviderCall::default() };
    let (messages, billing) = (vec![event("e1", "ann's")], Billing::default());
    let exchange = store.append_exchange(&late.scope, &chat.id, messages, call, billing).await;
    assert_refused(exchange, &fenced);
    let event_id = event("e1", "").event_id;
    let answer = NewInputAnswer { event_id, ..answer() };
    let request_id = InputRequestId::parse("q1").unwrap();
    let answered = store.answer_input_request(&late.scope, &chat.id, &request_id, answer).await;
    assert_refused(answered, &fenced);
    assert_eq!(chat.whole().await, before);

    // The holder, and callers without a fencing token, get the conflict.
    for chat in [early, chat] {
        let refused = chat.append([event("e1", "else")]).await;
        assert!(matches!(refused, Err(StoreError::EventConflict { sequence: 0, .. })));
    }
}

pub async fn ending_a_chat_releases_its_lease(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    acquire(&chat, "ann", LONG).await.unwrap();
    let ended = under(&chat, 1).set_status(ChatStatus::Completed, None).await.unwrap();
    assert_eq!(ended.lease, None);
    assert_eq!(under(&chat, 1).set_status(ChatStatus::Completed, None).await.unwrap(), ended);
    let refused = acquire(&chat, "bob", LONG).await;
    let status = ChatStatus::Completed;
    assert_refused(refused, &StoreError::ChatEnded { chat_id: chat.id.clone(), status });
    chat.set_status(ChatStatus::Running, None).await.unwrap();
    assert_refused(under(&chat, 1).append(numbered(0..1)).await, &fenced(&chat, 1));
    assert_eq!(acquire(&chat, "bob", LONG).await.unwrap().fencing_token, 2);
}

pub async fn a_lease_has_limits_and_a_scope(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for ttl in [Duration::ZERO, SHORT / 2, Lease::MAX_TTL * 2] {
        assert_invalid(acquire(&chat, "ann", ttl).await, "/ttl_ms", NotAdmitted);
    }
    acquire(&chat, "ann", LONG).await.unwrap();
    assert_invalid(renew(&chat, 1, Duration::ZERO).await, "/ttl_ms", NotAdmitted);
    assert_refused(renew(&chat, 2, LONG).await, &fenced(&chat, 2));
    for elsewhere in [chat.seen_from(super::fixture::some_scope()), TestChat::unknown(&store)] {
        let unknown = StoreError::ChatNotFound(elsewhere.id.clone());
        assert_refused(acquire(&elsewhere, "bob", LONG).await, &unknown);
        assert_refused(renew(&elsewhere, 1, LONG).await, &unknown);
        assert_refused(release(&elsewhere, 1).await, &unknown);
    }
}

pub async fn an_abandoned_chat_is_interrupted_once(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let here = || TestChat::create_in(&chat.scope, &store, super::fixture::new_chat());
    let (held, paused, free) = (here().await, here().await, here().await);
    let abandoned = acquire(&chat, "ann", SHORT).await.unwrap();
    acquire(&held, "ann", LONG).await.unwrap();
    acquire(&paused, "ann", SHORT).await.unwrap();
    paused.set_status(ChatStatus::Paused, Some("lunch")).await.unwrap();
    sleep(SHORT * 2).await;
    let sweepers = (0..8).map(|_| {
        let store = Arc::clone(&store);
        async move { store.interrupt_abandoned(1_000).await.unwrap() }
    });
    let mut interrupted = race(sweepers).await.concat();
    interrupted.retain(|interrupted| interrupted.app_id == chat.scope.app_id);
    let (app_id, chat_id) = (chat.scope.app_id.clone(), chat.id.clone());
    assert_eq!(interrupted, [Interrupted { app_id, chat_id, lease: abandoned }]);
    let session = chat.session().await;
    assert_eq!(
        (session.status, session.status_reason.as_deref(), session.lease),
        (ChatStatus::Paused, Some(Interrupted::PAUSE_REASON), None)
    );
    assert_refused(under(&chat, 1).append(numbered(0..1)).await, &fenced(&chat, 1));
    assert_eq!(acquire(&chat, "bob", LONG).await.unwrap().fencing_token, 2);
    for (other, status) in [(&held, ChatStatus::Running), (&free, ChatStatus::Running)] {
        assert_eq!(other.session().await.status, status);
    }
    assert_eq!(paused.session().await.status_reason.as_deref(), Some("lunch"));
    // The chat that runs again is not interrupted because of its former lease.
    assert_eq!(paused.set_status(ChatStatus::Running, None).await.unwrap().lease, None);
    store.interrupt_abandoned(1_000).await.unwrap();
    assert_eq!(paused.session().await.status, ChatStatus::Running);
}

fn lease(owner: &str, ttl: Duration) -> NewLease {
    NewLease { lease_id: None, owner: Owner::parse(owner).unwrap(), ttl }
}

async fn acquire(chat: &TestChat, owner: &str, ttl: Duration) -> Result<Lease, StoreError> {
    let acquired = chat.store.acquire_lease(&chat.scope, &chat.id, lease(owner, ttl)).await;
    acquired.map(|acquired| acquired.record)
}

async fn renew(chat: &TestChat, token: u64, ttl: Duration) -> Result<Lease, StoreError> {
    chat.store.renew_lease(&chat.scope, &chat.id, token, ttl).await
}

async fn release(chat: &TestChat, token: u64) -> Result<(), StoreError> {
    chat.store.release_lease(&chat.scope, &chat.id, token).await
}

/// The same chat, written to under a lease.
fn under(chat: &TestChat, token: u64) -> TestChat {
    chat.seen_from(chat.scope.clone().fenced(token))
}

fn fenced(chat: &TestChat, fencing_token: u64) -> StoreError {
    StoreError::Fenced { chat_id: chat.id.clone(), fencing_token }
}

fn q(id: &str) -> InputRequestId {
    InputRequestId::parse(id).unwrap()
}

async fn ask(chat: &TestChat, id: &str) -> Result<persistence::RequestedInput, StoreError> {
    ask_as(chat, id, "Why?").await
}

async fn ask_as(
    chat: &TestChat,
    id: &str,
    prompt: &str,
) -> Result<persistence::RequestedInput, StoreError> {
    let (request_id, question) = (Some(q(id)), Question::of(prompt));
    let new = NewInputRequest { request_id, question, expires_in_sec: None };
    chat.store.request_input(&chat.scope, &chat.id, new).await
}

fn answer() -> NewInputAnswer {
    NewInputAnswer {
        event_id: None,
        name: None,
        author: None,
        content: "so".into(),
        tool_call: None,
    }
}
