//! The author of a message.

use std::sync::Arc;

use records::InvalidKind::Value as NotAdmitted;
use records::{
    Author, CallId, DisplayName, MemberRole, Message, MessageBody, NewFork, NewInputAnswer,
    NewInputRequest, NewMessage, NewProviderCall, Permission, Question, UserId,
};

use super::fixture::{
    TestChat, assert_invalid, event, message, new_content, numbered, outcomes, sequences,
};
use persistence::{Billing, MessageRange, Outcome, Store};

pub async fn a_user_is_the_author_of_every_message_they_append(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let by_alice = as_member(&chat, "alice").await;
    by_alice.persist_initial(numbered(0..3)).await.unwrap();
    by_alice.append([message("alone")]).await.unwrap();
    by_alice.append([event("named", "with an id")]).await.unwrap();
    by_alice.append(numbered(0..20)).await.unwrap();
    // A large append takes another path than a small one, and old messages are stored elsewhere
    // than new ones.
    by_alice.append(numbered(0..400)).await.unwrap();
    exchange(&by_alice, vec![event("asked", "question"), event("said", "answer")]).await;
    answer(&chat, &by_alice).await;
    by_alice.append_filler().await;
    let messages = chat.history().await.unwrap();
    assert_eq!(messages.len(), 3 + 1 + 1 + 20 + 400 + 2 + 1 + 500);
    assert!(messages.iter().all(|message| message.author == Some(author("alice"))));
    assert_eq!(chat.messages(MessageRange::all()).await.unwrap().messages, messages);
    assert_eq!(chat.get_message(7).await.unwrap(), messages[7]);
}

pub async fn a_service_states_who_wrote_a_message(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let display_name = DisplayName::parse("Zoë $ {\"a\": 1}").ok();
    let named = Author { display_name, ..author("$where") };
    chat.append([message("nobody's"), of(&named, event("a", 1))]).await.unwrap();
    chat.persist_initial([of(&author("bob"), event("b", 2))]).await.unwrap();
    exchange(&chat, vec![of(&author("bob"), event("c", 3)), event("d", 4)]).await;
    let bob = Some(author("bob"));
    assert_eq!(authors(&chat).await, [None, Some(named), bob.clone(), bob, None]);
}

pub async fn a_user_may_state_only_themselves_as_author(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let by_alice = as_member(&chat, "alice").await;
    let display_name = DisplayName::parse("Alice").ok();
    let herself = Author { display_name, ..author("alice") };
    by_alice.append([of(&herself, message("mine"))]).await.unwrap();
    let pointer = "/messages/1/author/user_id";
    let stolen = || [message("fine"), of(&author("bob"), message("not hers"))];
    assert_invalid(by_alice.append(stolen()).await, pointer, NotAdmitted);
    assert_invalid(by_alice.persist_initial(stolen()).await, pointer, NotAdmitted);
    let call = NewProviderCall { call_id: CallId::parse("c").ok(), ..NewProviderCall::default() };
    let (scope, stolen) = (&by_alice.scope, stolen().to_vec());
    let refused = store.append_exchange(scope, &chat.id, stolen, call, Billing::Free).await;
    assert_invalid(refused, pointer, NotAdmitted);
    assert_eq!(authors(&chat).await, [Some(herself)]);
    assert_eq!(chat.usage().await.calls, 0);
}

pub async fn the_first_sender_stays_the_author_of_a_message(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let (alice, bob) = (as_member(&chat, "alice").await, as_member(&chat, "bob").await);
    alice.append([event("a", "hello")]).await.unwrap();
    for again in [&bob, &chat] {
        let append = again.append([event("a", "hello")]).await.unwrap();
        assert_eq!((sequences(&append), outcomes(&append)), (vec![0], vec![Outcome::Duplicate]));
    }
    bob.persist_initial([message("hello")]).await.unwrap();
    assert_eq!(authors(&chat).await, [Some(author("alice"))]);
}

pub async fn an_author_survives_edits_and_deletion(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let alice = as_member(&chat, "alice").await;
    alice.append(numbered(0..10)).await.unwrap();
    exchange(&alice, vec![MessageBody::new("assistant", None, "linked").into()]).await;
    alice.append_filler().await;
    for sequence in [3, 510] {
        chat.update_message(sequence, new_content("x".repeat(2 << 20))).await.unwrap();
        chat.update_message(sequence, new_content("changed")).await.unwrap();
    }
    for sequence in [4, 509] {
        let deleted = chat.delete_message(sequence).await.unwrap();
        assert_eq!(deleted.author, Some(author("alice")));
    }
    store.delete_call(&chat.scope, &chat.id, &CallId::parse("call").unwrap()).await.unwrap();
    let authors = authors(&chat).await;
    assert_eq!(authors.len(), 511);
    assert!(authors.iter().all(|of| *of == Some(author("alice"))));
}

pub async fn an_edit_and_a_deletion_name_who_made_them(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let alice = as_member(&chat, "alice").await;
    alice.append(numbered(0..10)).await.unwrap();
    chat.append_filler().await;
    alice.append(numbered(20..25)).await.unwrap();
    // An edit of a message that a fork shares is stored elsewhere than one in a segment or in the tail.
    let newest = chat.session().await.last_sequence - 1;
    for (sequence, is_shared) in [(3, false), (newest, false), (5, true)] {
        if is_shared {
            store.fork_chat(&chat.scope, &chat.id, NewFork::default()).await.unwrap();
        }
        let edited = alice.update_message(sequence, new_content("changed")).await.unwrap();
        let expected = Some(author("alice").user_id);
        assert_eq!((&edited.edited_by, &edited.deleted_by), (&expected, &None));
        assert_eq!(chat.get_message(sequence).await.unwrap(), edited);
        // The newest edit counts, and a service is no person.
        let edited = chat.update_message(sequence, new_content("again")).await.unwrap();
        assert_eq!((edited.edited_at.is_some(), &edited.edited_by), (true, &None));
        alice.update_message(sequence, new_content("at last")).await.unwrap();
        let deleted = alice.delete_message(sequence).await.unwrap();
        assert_eq!((&deleted.edited_by, &deleted.deleted_by), (&expected, &expected));
        // Deleting it again changes nothing.
        assert_eq!(chat.delete_message(sequence).await.unwrap(), deleted);
        assert_eq!(chat.get_message(sequence).await.unwrap(), deleted);
        let neighbour = chat.delete_message(sequence - 1).await.unwrap();
        assert!(neighbour.deleted_at.is_some() && neighbour.deleted_by.is_none());
    }
    let named = |message: &&Message| message.deleted_by.is_some();
    assert_eq!(chat.history().await.unwrap().iter().filter(named).count(), 3);
}

/// The same chat as a member says something in it.
async fn as_member(chat: &TestChat, user: &str) -> TestChat {
    chat.put_member(user, MemberRole::Member).await.unwrap();
    chat.seen_by(user, None).needing(Permission::Say)
}

async fn exchange(chat: &TestChat, messages: Vec<NewMessage>) {
    let call_id = CallId::parse("call").ok();
    let call = NewProviderCall { call_id, ..NewProviderCall::default() };
    let (scope, id) = (&chat.scope, &chat.id);
    chat.store.append_exchange(scope, id, messages, call, Billing::Free).await.unwrap();
}

/// Makes a user answer a question of the workflow.
async fn answer(chat: &TestChat, person: &TestChat) {
    let question = Question::of("Why?");
    let new = NewInputRequest { request_id: None, question, expires_in_sec: None };
    let asked = chat.store.request_input(&chat.scope, &chat.id, new).await.unwrap();
    let (request_id, answer) = (&asked.request.request_id, NewInputAnswer::of("so"));
    let (scope, id) = (&person.scope, &person.id);
    chat.store.answer_input_request(scope, id, request_id, answer).await.unwrap();
}

async fn authors(chat: &TestChat) -> Vec<Option<Author>> {
    let messages = chat.history().await.unwrap();
    messages.into_iter().map(|message: Message| message.author).collect()
}

fn author(user_id: &str) -> Author {
    Author { user_id: UserId::parse(user_id).unwrap(), display_name: None }
}

fn of(author: &Author, message: NewMessage) -> NewMessage {
    NewMessage { author: Some(author.clone()), ..message }
}
