//! Finding and deleting messages by their ids.

use std::collections::BTreeSet;
use std::sync::Arc;

use records::InvalidKind::TooLarge;
use records::{EventId, Limits, MemberRole, Message, Permission, Scope, SizeLimit};

use super::fixture::{TestChat, assert_invalid, assert_refused, event, event_id, new_content};
use persistence::{ChatHead, DeletedMessage, Deletion, Store, StoreError};

pub async fn messages_are_found_by_their_ids_in_the_order_of_the_ids(store: Arc<dyn Store>) {
    let chat = long_chat(&store).await;
    let found = find(&chat, &["e319", "unknown", "e0", "e150", "e0"]).await.unwrap();
    assert_eq!(found, [Some(319), None, Some(0), Some(150), Some(0)]);
    chat.update_message(150, new_content("changed")).await.unwrap();
    chat.delete_message(0).await.unwrap();
    assert_eq!(find(&chat, &["e0", "e150"]).await.unwrap(), [Some(0), Some(150)]);
    assert_eq!(find(&chat, &[]).await.unwrap(), []);
    let unknown = TestChat::unknown(&store);
    assert_refused(find(&unknown, &["e0"]).await, &StoreError::ChatNotFound(unknown.id.clone()));
}

pub async fn several_messages_are_deleted_by_their_ids(store: Arc<dyn Store>) {
    let chat = long_chat(&store).await;
    let before = chat.history().await.unwrap();
    let wanted = ["e318", "unknown", "e1", "e150", "e1", "e319", "nobody"];
    let first = delete(&chat, &wanted).await.unwrap();
    let deleted = [("e318", 318), ("e1", 1), ("e150", 150), ("e1", 1), ("e319", 319)];
    assert_eq!(first.deleted, deleted.map(|(id, at)| deleted_message(id, at)));
    assert_eq!(first.unknown, ids(&["unknown", "nobody"]));
    let after = chat.history().await.unwrap();
    for (before, after) in before.iter().zip(&after) {
        let is_wanted = [1, 150, 318, 319].contains(&after.sequence);
        assert_eq!(after.deleted_at.is_some(), is_wanted, "{}", after.sequence);
        assert!(is_wanted || before == after, "{}", after.sequence);
    }
    assert_eq!(delete(&chat, &wanted).await.unwrap(), first, "a repeat");
    assert_eq!(chat.history().await.unwrap(), after, "a repeat changes nothing");
    let nothing = delete(&chat, &["unknown"]).await.unwrap();
    assert_eq!(nothing, Deletion { deleted: Vec::new(), unknown: ids(&["unknown"]) });
    assert_eq!(delete(&chat, &[]).await.unwrap(), Deletion::default());
}

pub async fn messages_that_forks_share_are_found_and_deleted_by_their_ids(store: Arc<dyn Store>) {
    let source = long_chat(&store).await;
    let fork = source.fork_at(310).await;
    fork.append([event("own", "its own")]).await.unwrap();
    let second = fork.fork_at(311).await;
    fork.append_filler().await;
    for chat in [&fork, &second] {
        let found = find(chat, &["e0", "e309", "e310", "own"]).await.unwrap();
        assert_eq!(found, [Some(0), Some(309), None, Some(310)]);
    }
    assert_eq!(find(&source, &["e310", "own"]).await.unwrap(), [Some(310), None]);
    let deletion = delete(&fork, &["e5", "own", "e310"]).await.unwrap();
    assert_eq!(deletion.deleted, [deleted_message("e5", 5), deleted_message("own", 310)]);
    assert_eq!(deletion.unknown, ids(&["e310"]));
    let is_deleted = |message: Message| message.deleted_at.is_some();
    for (chat, at_5, at_310) in
        [(&source, false, false), (&fork, true, true), (&second, false, false)]
    {
        assert_eq!(is_deleted(chat.get_message(5).await.unwrap()), at_5);
        assert_eq!(is_deleted(chat.get_message(310).await.unwrap()), at_310);
    }
}

/// Some are in the newest part of the chat, some in older parts of its own, and some in parts that it shares with its source.
pub async fn many_messages_are_deleted_wherever_they_are_stored(store: Arc<dyn Store>) {
    let source = long_chat(&store).await;
    source.delete_message(33).await.unwrap();
    let fork = source.fork_at(320).await;
    fork.append_filler().await;
    for n in 0..40 {
        fork.append([event(&format!("own{n}"), n)]).await.unwrap();
    }
    let revision = store.confirmed_head(&fork.scope, &fork.id).await.unwrap().revision;
    let (in_source, before) = (source.history().await.unwrap(), fork.history().await.unwrap());
    let wanted: BTreeSet<u64> =
        (30..36).chain(350..417).chain([500, 820]).chain(835..860).collect();
    assert_eq!(wanted.len(), Limits::DELETED_MESSAGES);
    let of_sequence = |sequence: &u64| before[usize::try_from(*sequence).unwrap()].event_id.clone();
    let wanted_ids: Vec<_> = wanted.iter().map(of_sequence).collect();
    for _ in 0..2 {
        let deletion = fork.delete_messages(&wanted_ids).await.unwrap();
        assert!(deletion.deleted.iter().map(|it| it.sequence).eq(wanted.iter().copied()));
        let head = store.confirmed_head(&fork.scope, &fork.id).await.unwrap();
        assert_eq!(head.revision - revision, 99, "one was deleted already");
        assert_eq!(head.recent_edits.len(), ChatHead::RECENT_EDITS);
        assert!(head.recent_edits.iter().all(|sequence| wanted.contains(sequence)));
    }
    for (before, after) in before.iter().zip(fork.history().await.unwrap()) {
        if wanted.contains(&after.sequence) {
            assert_eq!(after.body, before.body.tombstone());
            assert!(after.deleted_at.is_some());
        } else {
            assert_eq!(after, *before);
        }
    }
    assert_eq!(source.history().await.unwrap(), in_source);
}

pub async fn who_may_not_delete_one_of_the_messages_deletes_none(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.put_member("ada", MemberRole::Member).await.unwrap();
    let ada = chat.seen_by("ada", None).needing(Permission::Say);
    ada.append([event("a", "hers")]).await.unwrap();
    chat.append([event("b", "not hers")]).await.unwrap();
    chat.append_filler().await;
    ada.append([event("c", "hers")]).await.unwrap();
    let before = chat.whole().await;
    let run = StoreError::Forbidden { chat_id: chat.id.clone(), permission: Permission::Run };
    assert_refused(delete(&ada, &["a", "c", "b"]).await, &run);
    assert_eq!(chat.whole().await, before);
    let own = delete(&ada, &["a", "unknown", "c"]).await.unwrap();
    assert_eq!(own.deleted, [deleted_message("a", 0), deleted_message("c", 502)]);
    assert_eq!(chat.get_message(0).await.unwrap().deleted_by.unwrap().as_str(), "ada");
}

pub async fn a_deletion_depends_on_the_number_of_messages(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([event("a", 1), event("b", 2)]).await.unwrap();
    let expecting =
        |n: u64| chat.seen_from(Scope { expected_last_sequence: Some(n), ..chat.scope.clone() });
    let conflict =
        StoreError::SequenceConflict { chat_id: chat.id.clone(), expected: 1, actual: 2 };
    assert_refused(delete(&expecting(1), &["a"]).await, &conflict);
    assert_eq!(chat.get_message(0).await.unwrap().deleted_at, None);
    let deletion = delete(&expecting(2), &["a", "b"]).await.unwrap();
    assert_eq!(deletion.deleted, [deleted_message("a", 0), deleted_message("b", 1)]);
}

pub async fn too_many_ids_are_refused(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([event("e0", 1)]).await.unwrap();
    let names: Vec<_> = (0..=Limits::DELETED_MESSAGES).map(|n| format!("e{n}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let refused = delete(&chat, &names).await;
    assert_invalid(refused, "/event_ids", TooLarge(SizeLimit::Batch));
    assert_eq!(chat.get_message(0).await.unwrap().deleted_at, None);
    assert_eq!(delete(&chat, &names[1..]).await.unwrap().unknown.len(), Limits::DELETED_MESSAGES);
}

/// Creates a chat of 320 messages, `e0` to `e319`, whose ids are those of their sequences.
async fn long_chat(store: &Arc<dyn Store>) -> TestChat {
    let chat = TestChat::create(store).await;
    for start in (0..320).step_by(32) {
        let batch = (start..start + 32).map(|n| event(&format!("e{n}"), n));
        chat.append(batch).await.unwrap();
    }
    chat
}

fn ids(names: &[&str]) -> Vec<EventId> {
    names.iter().map(|name| event_id(name)).collect()
}

fn deleted_message(id: &str, sequence: u64) -> DeletedMessage {
    DeletedMessage { event_id: event_id(id), sequence }
}

pub async fn a_deletion_depends_on_the_number_of_messages_also_if_it_finds_none(
    store: Arc<dyn Store>,
) {
    let chat = TestChat::create(&store).await;
    chat.append([event("e", "hello")]).await.unwrap();
    for names in [&["unknown"][..], &["e"]] {
        let expected_last_sequence = Some(u64::MAX / 2 + 1);
        let late = chat.seen_from(Scope { expected_last_sequence, ..chat.scope.clone() });
        let refused = delete(&late, names).await;
        assert!(matches!(refused, Err(StoreError::SequenceConflict { .. })), "{refused:?}");
        let current = chat.seen_from(Scope { expected_last_sequence: Some(1), ..late.scope });
        delete(&current, names).await.unwrap();
    }
}

async fn find(chat: &TestChat, names: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
    chat.find_messages(&ids(names)).await
}

async fn delete(chat: &TestChat, names: &[&str]) -> Result<Deletion, StoreError> {
    chat.delete_messages(&ids(names)).await
}
