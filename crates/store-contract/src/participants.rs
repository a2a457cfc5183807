//! The participants of a chat.

use std::sync::Arc;

use records::{ChatStatus, DisplayName, Limits, Participant, UserId};

use super::fixture::{TestChat, a_moment_passes, assert_refused, race};
use persistence::{Joined, Outcome, ParticipantCursor, Store, StoreError};

/// Names that a database may interpret.
const POISON: [&str; 6] = ["$where", "a.b", "participants.$", "{\"$ne\": null}", "0", "א"];

pub async fn a_user_who_joins_is_a_participant(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    assert_eq!(listed(&chat).await, []);
    let before = chat.whole().await;
    let alice = join(&chat, "alice", Some("Alice")).await.unwrap();
    assert_eq!(alice.outcome, Outcome::Stored);
    assert_eq!(alice.participant.user_id, user("alice"));
    assert_eq!(alice.participant.display_name, name(Some("Alice")));
    a_moment_passes().await;
    let bob = join(&chat, "bob", None).await.unwrap();
    assert!(bob.participant.joined_at > alice.participant.joined_at);
    assert_eq!(bob.participant.display_name, None);
    assert_eq!(listed(&chat).await, [alice.participant, bob.participant]);
    assert_eq!(chat.whole().await, before, "joining does not change the chat");
}

pub async fn joining_again_changes_at_most_the_name(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let first = join(&chat, "alice", None).await.unwrap().participant;
    join(&chat, "bob", Some("Bob")).await.unwrap();
    a_moment_passes().await;
    for (given, kept) in [(None, None), (Some("A"), Some("A")), (None, Some("A"))] {
        let again = join(&chat, "alice", given).await.unwrap();
        let expected = Participant { display_name: name(kept), ..first.clone() };
        assert_eq!(again, Joined { participant: expected.clone(), outcome: Outcome::Duplicate });
        assert_eq!(listed(&chat).await[0], expected);
    }
    assert_eq!(listed(&chat).await[1].display_name, name(Some("Bob")));
}

pub async fn leaving_removes_the_participant(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    leave(&chat, "alice").await;
    for user_id in ["alice", "bob"] {
        join(&chat, user_id, None).await.unwrap();
        a_moment_passes().await;
    }
    for _ in 0..2 {
        leave(&chat, "alice").await;
        assert_eq!(names(&listed(&chat).await), ["bob"]);
    }
    assert_eq!(join(&chat, "alice", None).await.unwrap().outcome, Outcome::Stored);
    assert_eq!(names(&listed(&chat).await), ["bob", "alice"]);
}

pub async fn participants_are_listed_oldest_first_page_by_page(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let racers = (0..25).map(|n| {
        let chat = chat.clone();
        async move { join(&chat, &format!("u{n}"), None).await.map(drop) }
    });
    assert!(race(racers).await.iter().all(Result::is_ok));
    let all = listed(&chat).await;
    assert!(all.is_sorted_by_key(|of| (of.joined_at, of.user_id.clone())));
    for limit in [1, 4, 25, 100] {
        let mut paged = Vec::new();
        let mut after: Option<ParticipantCursor> = None;
        loop {
            let page = store.list_participants(&chat.scope, &chat.id, limit, after.as_ref()).await;
            let page = page.unwrap();
            paged.extend(page.participants);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(paged, all, "{limit}");
    }
}

pub async fn one_of_the_racing_joins_of_a_user_is_new(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let racers = (0..16).map(|n| {
        let chat = chat.clone();
        async move { join(&chat, "alice", Some(&format!("name {n}"))).await.unwrap() }
    });
    let joined = race(racers).await;
    let new = joined.iter().filter(|joined| joined.outcome == Outcome::Stored);
    assert_eq!(new.count(), 1);
    assert_eq!(names(&listed(&chat).await), ["alice"]);
}

pub async fn the_number_of_participants_is_limited(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let racers = (0..26).map(|racer| {
        let chat = chat.clone();
        async move {
            let mut refused = 0;
            for n in 0..40 {
                match join(&chat, &format!("{racer}/{n}"), None).await {
                    Ok(joined) => assert_eq!(joined.outcome, Outcome::Stored),
                    Err(error) => {
                        let full = StoreError::TooManyParticipants(chat.id.clone());
                        assert_refused::<()>(Err(error), &full);
                        refused += 1;
                    }
                }
            }
            refused
        }
    });
    let refused: usize = race(racers).await.into_iter().sum();
    assert_eq!(refused, 26 * 40 - Limits::PARTICIPANTS);
    let all = listed(&chat).await;
    assert_eq!(all.len(), Limits::PARTICIPANTS);
    // A participant may join again, and a user who leaves makes room for another.
    let first = all[0].user_id.as_str();
    assert_eq!(join(&chat, first, Some("x")).await.unwrap().outcome, Outcome::Duplicate);
    leave(&chat, first).await;
    assert_eq!(join(&chat, "late", None).await.unwrap().outcome, Outcome::Stored);
}

pub async fn participants_of_different_chats_are_independent(store: Arc<dyn Store>) {
    let (chat, other) = (TestChat::create(&store).await, TestChat::create(&store).await);
    join(&chat, "alice", Some("Alice")).await.unwrap();
    join(&other, "alice", None).await.unwrap();
    leave(&other, "alice").await;
    assert_eq!(names(&listed(&chat).await), ["alice"]);
    assert_eq!(listed(&other).await, []);
}

pub async fn names_are_never_interpreted(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for poison in POISON {
        for display_name in POISON {
            let joined = join(&chat, poison, Some(display_name)).await.unwrap().participant;
            assert_eq!(joined.display_name, name(Some(display_name)));
        }
    }
    let mut left = names(&listed(&chat).await);
    left.sort();
    let mut all = POISON.map(str::to_owned).to_vec();
    all.sort();
    assert_eq!(left, all);
    for poison in POISON {
        leave(&chat, poison).await;
        left.retain(|of| of != poison);
        assert_eq!(listed(&chat).await.len(), left.len());
    }
}

pub async fn a_chat_can_be_joined_in_every_status(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for (user_id, status) in [("a", ChatStatus::Paused), ("b", ChatStatus::Completed)] {
        chat.set_status(status, None).await.unwrap();
        assert_eq!(join(&chat, user_id, None).await.unwrap().outcome, Outcome::Stored);
        leave(&chat, user_id).await;
    }
}

async fn join(
    chat: &TestChat,
    user_id: &str,
    display_name: Option<&str>,
) -> Result<Joined, StoreError> {
    let (user_id, display_name) = (user(user_id), name(display_name));
    chat.store.join_chat(&chat.scope, &chat.id, &user_id, display_name.as_ref()).await
}

async fn leave(chat: &TestChat, user_id: &str) {
    chat.leave(user_id).await.unwrap();
}

async fn listed(chat: &TestChat) -> Vec<Participant> {
    chat.participants().await.unwrap()
}

fn names(participants: &[Participant]) -> Vec<String> {
    participants.iter().map(|of| of.user_id.to_string()).collect()
}

fn user(user_id: &str) -> UserId {
    UserId::parse(user_id).unwrap()
}

fn name(display_name: Option<&str>) -> Option<DisplayName> {
    display_name.map(|name| DisplayName::parse(name).unwrap())
}
