//! Calls that are paid for with the tokens of a wallet.

use std::sync::Arc;

use records::{
    CallId, ChatStatus, Counter, EntryKind, MessageBody, NewChatSession, NewProviderCall, Scope,
    UserId,
};

use super::fixture::{TestChat, new_chat, race, some_scope};
use persistence::{Billing, Outcome, Payment, Recording, Store};

/// Creates a chat of the user alice, whose wallet holds this many tokens.
async fn chat_of_alice(store: &Arc<dyn Store>, scope: &Scope, tokens: i64) -> TestChat {
    store.ensure_wallet(scope, &alice(), tokens).await.unwrap();
    let new = NewChatSession { user_id: Some(alice()), ..new_chat() };
    TestChat::create_in(scope, store, new).await
}

pub async fn billed_calls_debit_the_wallet(store: Arc<dyn Store>) {
    let chat = chat_of_alice(&store, &some_scope(), 100).await;
    let recording = record(&chat, vec![call("call_1", 10), call("call_2", 20)]).await;
    let Payment::Paid(entry) = recording.payment else { panic!("{:?}", recording.payment) };
    assert_eq!((entry.kind, entry.amount, entry.balance), (EntryKind::Debit, -30, 70));
    assert_eq!(entry.reason, Some(format!("calls of {}", chat.id)));
    assert_eq!(balance(&chat).await, 70);
    // Repeated calls and calls without tokens are not debited.
    let again = record(&chat, vec![call("call_1", 10)]).await;
    assert_eq!((again.calls[0].outcome, again.payment), (Outcome::Duplicate, Payment::None));
    let mixed = record(&chat, vec![call("call_1", 10), call("call_3", 5)]).await;
    assert!(matches!(mixed.payment, Payment::Paid(entry) if entry.amount == -5));
    assert_eq!(record(&chat, vec![call("call_4", 0)]).await.payment, Payment::None);
    assert_eq!((balance(&chat).await, chat.session().await.status), (65, ChatStatus::Running));
}

pub async fn an_empty_wallet_pauses_the_chat_and_keeps_the_calls(store: Arc<dyn Store>) {
    let chat = chat_of_alice(&store, &some_scope(), 25).await;
    record(&chat, vec![call("call_1", 20)]).await;
    let unpaid = record(&chat, vec![call("call_2", 6)]).await;
    assert_eq!(unpaid.payment, Payment::Unpaid { balance: 5, amount: 6 });
    assert_eq!(unpaid.calls[0].outcome, Outcome::Stored);
    let session = chat.session().await;
    assert_eq!(session.status, ChatStatus::Paused);
    let reason = "insufficient tokens: 5 are left, the last calls took 6";
    assert_eq!(session.status_reason.as_deref(), Some(reason));
    assert_eq!((balance(&chat).await, chat.usage().await.calls), (5, 2));
    // A chat that is not running keeps its status.
    record(&chat, vec![call("call_3", 6)]).await;
    let total = store.workflow_stats(&session.app_id, &session.workflow_name).await.unwrap().total;
    let counters = [Counter::Pauses, Counter::Paused, Counter::Running].map(|c| total.get(c));
    assert_eq!(counters, [1, 1, 0]);
}

pub async fn an_unknown_wallet_pays_nothing(store: Arc<dyn Store>) {
    let scope = some_scope();
    let new = NewChatSession { user_id: Some(alice()), ..new_chat() };
    let poor = TestChat::create_in(&scope, &store, new).await;
    let unpaid = record(&poor, vec![call("call_1", 6)]).await;
    assert_eq!(unpaid.payment, Payment::Unpaid { balance: 0, amount: 6 });
    assert_eq!(poor.session().await.status, ChatStatus::Paused);
    let nobodys = TestChat::create_in(&scope, &store, new_chat()).await;
    assert_eq!(record(&nobodys, vec![call("call_1", 6)]).await.payment, Payment::None);
    assert_eq!(nobodys.session().await.status, ChatStatus::Running);
}

pub async fn an_exchange_is_billed_for_its_call(store: Arc<dyn Store>) {
    let chat = chat_of_alice(&store, &some_scope(), 10).await;
    let exchange = async |id: &str| {
        let messages = vec![MessageBody::new("assistant", None, id).into()];
        let (scope, call) = (&chat.scope, call(id, 7));
        store.append_exchange(scope, &chat.id, messages, call, Billing::Wallet).await.unwrap()
    };
    assert!(matches!(exchange("call_1").await.payment, Payment::Paid(entry) if entry.balance == 3));
    let unpaid = exchange("call_2").await;
    assert_eq!(unpaid.payment, Payment::Unpaid { balance: 3, amount: 7 });
    assert_eq!((unpaid.append.last_sequence, chat.session().await.status), (2, ChatStatus::Paused));
}

pub async fn racing_calls_never_overdraw_a_wallet(store: Arc<dyn Store>) {
    let scope = some_scope();
    let one = chat_of_alice(&store, &scope, 50).await;
    let other = chat_of_alice(&store, &scope, 50).await;
    let racers = (0..16).map(|racer| {
        let chat = if racer % 2 == 0 { one.clone() } else { other.clone() };
        async move { record(&chat, vec![call(&format!("call_{racer}"), 7)]).await.payment }
    });
    let payments = race(racers).await;
    let paid = payments.iter().filter(|payment| matches!(payment, Payment::Paid(_))).count();
    assert_eq!((paid, balance(&one).await), (7, 1));
    assert_eq!(one.usage().await.calls + other.usage().await.calls, 16);
}

async fn record(chat: &TestChat, calls: Vec<NewProviderCall>) -> Recording {
    let recording = chat.store.record_calls(&chat.scope, &chat.id, calls, Billing::Wallet);
    recording.await.unwrap()
}

async fn balance(chat: &TestChat) -> i64 {
    chat.store.get_wallet(&chat.scope, &alice()).await.unwrap().unwrap().balance
}

fn alice() -> UserId {
    UserId::parse("alice").unwrap()
}

fn call(id: &str, tokens: u64) -> NewProviderCall {
    let call_id = CallId::parse(id).ok();
    NewProviderCall { call_id, prompt_tokens: tokens, ..NewProviderCall::default() }
}
