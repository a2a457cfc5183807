//! The users present in a chat.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use records::{ChatId, Connection, ConnectionId, DisplayName, Ids as _, Limits, UserId, Uuid7Ids};
use tokio::time::timeout;

use super::fixture::{TestChat, a_moment_passes, some_scope};
use persistence::{Change, ChatPresence, Interest, Store};

const HOUR: Duration = Duration::from_hours(1);
const MAX_WAIT: Duration = Duration::from_secs(30);

pub async fn an_announced_user_is_present(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    assert_eq!(presence(&chat).await, ChatPresence::default());
    announce(&chat, &[of(&chat, "bob"), of(&chat, "bob")], HOUR).await;
    a_moment_passes().await;
    announce(&chat, &[of(&chat, "alice"), of(&chat, "$where"), of(&chat, "bob")], HOUR).await;
    let presence = presence(&chat).await;
    assert_eq!(users(&presence), [("bob", 3), ("$where", 1), ("alice", 1)]);
    assert_eq!(presence.count, 3);
    assert!(presence.present[0].since < presence.present[1].since);
    assert_eq!(presence.present[1].since, presence.present[2].since);
    assert!(presence.lasting.is_some_and(|lasting| lasting <= HOUR));
}

pub async fn presence_shows_the_names_of_participants(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let name = DisplayName::parse("Alice").unwrap();
    let alice = UserId::parse("alice").unwrap();
    announce(&chat, &[of(&chat, "alice"), of(&chat, "bob")], HOUR).await;
    store.join_chat(&chat.scope, &chat.id, &alice, Some(&name)).await.unwrap();
    chat.join("carol").await.unwrap();
    let presence = presence(&chat).await;
    let names: Vec<_> = presence.present.iter().map(|of| of.display_name.as_ref()).collect();
    assert_eq!(names, [Some(&name), None]);
}

pub async fn an_announcement_lasts_for_the_stated_time(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let (alice, bob) = (of(&chat, "alice"), of(&chat, "bob"));
    announce(&chat, &[alice.clone(), bob.clone()], Duration::ZERO).await;
    assert_eq!(presence(&chat).await, ChatPresence::default());
    announce(&chat, &[alice.clone(), bob], HOUR).await;
    assert_eq!(users(&presence(&chat).await), [("alice", 1), ("bob", 1)]);
    announce(&chat, &[alice], Duration::ZERO).await;
    assert_eq!(users(&presence(&chat).await), [("bob", 1)]);
}

pub async fn announcing_again_changes_only_the_expiry(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let alice = of(&chat, "alice");
    announce(&chat, std::slice::from_ref(&alice), HOUR).await;
    let before = presence(&chat).await;
    a_moment_passes().await;
    announce(&chat, &[alice.clone(), alice], 2 * HOUR).await;
    let after = presence(&chat).await;
    assert_eq!(after.present, before.present);
    assert!(after.lasting > before.lasting);
}

pub async fn a_withdrawn_connection_is_not_present(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let (first, second, bob) = (of(&chat, "alice"), of(&chat, "alice"), of(&chat, "bob"));
    announce(&chat, &[first.clone(), second.clone(), bob.clone()], HOUR).await;
    for _ in 0..2 {
        withdraw(&chat, std::slice::from_ref(&first)).await;
        assert_eq!(users(&presence(&chat).await), [("alice", 1), ("bob", 1)]);
    }
    withdraw(&chat, &[second, bob, of(&chat, "never")]).await;
    assert_eq!(presence(&chat).await, ChatPresence::default());
    withdraw(&chat, &[]).await;
    announce(&chat, &[], HOUR).await;
}

pub async fn presence_stays_within_its_chat_and_app(store: Arc<dyn Store>) {
    let (chat, other) = (TestChat::create(&store).await, TestChat::create(&store).await);
    let alice = of(&chat, "alice");
    announce(&chat, std::slice::from_ref(&alice), HOUR).await;
    assert_eq!(presence(&other).await, ChatPresence::default());
    // A caller of another app cannot affect the chat.
    let elsewhere = some_scope();
    store.announce(&elsewhere, &[of(&chat, "mallory")], HOUR).await.unwrap();
    store.withdraw(&elsewhere, &[alice]).await.unwrap();
    assert_eq!(users(&presence(&chat).await), [("alice", 1)]);
    // Announcing in an unknown chat is no error.
    let unknown = TestChat::unknown(&store);
    announce(&unknown, &[of(&unknown, "alice")], HOUR).await;
    withdraw(&unknown, &[of(&unknown, "alice")]).await;
}

pub async fn users_beyond_the_listed_ones_are_counted(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let crowd: Vec<_> = (0..Limits::PRESENT + 50).map(|n| of(&chat, &format!("{n:04}"))).collect();
    announce(&chat, &crowd, HOUR).await;
    let presence = presence(&chat).await;
    assert_eq!((presence.present.len(), presence.count), (Limits::PRESENT, 250));
    let named: Vec<_> = presence.present.iter().map(|of| &of.user_id).collect();
    assert!(named.into_iter().eq(crowd[..Limits::PRESENT].iter().map(|of| &of.user_id)));
}

pub async fn listeners_receive_presence_changes(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let mut changes = store.changes(Interest::in_all_chats());
    while changes.next().await != Some(Change::Began) {}
    let alice = of(&chat, "alice");
    announce(&chat, std::slice::from_ref(&alice), HOUR).await;
    until_notified(&mut changes, &chat.id).await;
    chat.join("alice").await.unwrap();
    until_notified(&mut changes, &chat.id).await;
    chat.leave("alice").await.unwrap();
    until_notified(&mut changes, &chat.id).await;
    withdraw(&chat, &[alice]).await;
    until_notified(&mut changes, &chat.id).await;
}

async fn until_notified(
    changes: &mut (impl futures::Stream<Item = Change> + Unpin),
    chat_id: &ChatId,
) {
    let told = Some(Change::Presence(chat_id.clone()));
    while timeout(MAX_WAIT, changes.next()).await.unwrap() != told {}
}

async fn announce(chat: &TestChat, connections: &[Connection], lasting: Duration) {
    chat.store.announce(&chat.scope, connections, lasting).await.unwrap();
}

async fn withdraw(chat: &TestChat, connections: &[Connection]) {
    chat.store.withdraw(&chat.scope, connections).await.unwrap();
}

async fn presence(chat: &TestChat) -> ChatPresence {
    chat.store.presence(&chat.scope, &chat.id).await.unwrap()
}

/// The users present, each with the number of connections.
fn users(presence: &ChatPresence) -> Vec<(&str, u64)> {
    presence.present.iter().map(|of| (of.user_id.as_str(), of.connections)).collect()
}

fn of(chat: &TestChat, user_id: &str) -> Connection {
    Connection {
        connection_id: ConnectionId::parse(Uuid7Ids.mint("conn_")).unwrap(),
        chat_id: chat.id.clone(),
        user_id: UserId::parse(user_id).unwrap(),
    }
}
