//! A tree of forked chats, which are deleted, purged and erased as well, has the same contents as a model with one list
//! for each chat.

use std::ops::Range;
use std::sync::Arc;

use futures::TryStreamExt as _;
use persistence::memory::MemoryStore;
use persistence::mongo::Interruption;
use persistence::{MessageRange, Store, StoreError};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use records::{
    Actor, AppId, Author, ChatId, Ids as _, Lifecycle, Message, MessageBody, MessageEdit,
    NewChatSession, NewFork, NewMessage, Scope, SessionChange, UserId, Uuid7Ids, WorkflowName,
};

use super::operation::users;
use super::{config, run};
use crate::mongo::database::Database;

/// A step. Its numbers select one of the existing chats, messages and users, modulo their count.
#[derive(Debug, Clone)]
struct Step {
    kind: Kind,
    chat: usize,
    number: usize,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Append,
    Edit,
    Delete,
    Fork,
    Seal,
    /// Archives, deletes or restores the chat.
    Move,
    Purge,
    Erase,
}

/// A message of the model.
#[derive(Debug, Clone)]
struct Said {
    /// `None` for a deleted message.
    text: Option<String>,
    author: usize,
}

/// What a chat must contain.
#[derive(Debug)]
struct Model {
    chat_id: ChatId,
    owner: usize,
    /// The source, and the number of messages taken over.
    origin: Option<(usize, usize)>,
    lifecycle: Lifecycle,
    said: Vec<Said>,
}

struct Tree {
    scope: Scope,
    chats: Vec<Model>,
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_tree_of_forks_in_memory_equals_a_model_of_lists(steps in steps()) {
        run(play(Arc::new(MemoryStore::default()), None, steps))?;
    }

    #[test]
    fn a_tree_of_forks_in_mongo_equals_a_model_of_lists(steps in steps()) {
        run(async {
            let mongo = Database::create_with(|options| {
                options.sealing.is_automatic = false;
                options.sealing.keep_messages = 2;
                options.sealing.segment_bytes = 1_500;
            })
            .await;
            play(mongo.as_dyn(), Some(&mongo), steps).await
        })?;
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = prop_oneof![
        6 => Just(Kind::Append),
        6 => Just(Kind::Edit),
        2 => Just(Kind::Delete),
        4 => Just(Kind::Fork),
        6 => Just(Kind::Seal),
        2 => Just(Kind::Move),
        1 => Just(Kind::Purge),
        1 => Just(Kind::Erase),
    ];
    let step = (kind, 0..12_usize, 0..60_usize);
    prop::collection::vec(step.prop_map(|(kind, chat, number)| Step { kind, chat, number }), 1..60)
}

async fn play(
    store: Arc<dyn Store>,
    sealed: Option<&Database>,
    steps: Vec<Step>,
) -> TestCaseResult {
    let scope = Scope::service(AppId::parse(Uuid7Ids.mint("app_")).unwrap());
    let mut tree = Tree { scope, chats: Vec::new() };
    tree.create(&*store, 0).await;
    for (number, step) in steps.into_iter().enumerate() {
        tree.take(&*store, sealed, step, &format!("step {number}")).await;
        if number % 5 == 0 {
            tree.compare(&*store).await?;
        }
    }
    tree.compare(&*store).await
}

/// Returns the user with a number; the last number is no user.
fn user(number: usize) -> Option<UserId> {
    users().get(number).cloned()
}

impl Tree {
    async fn create(&mut self, store: &dyn Store, owner: usize) {
        let workflow = WorkflowName::parse("Generator").unwrap();
        let new = NewChatSession { user_id: user(owner), ..NewChatSession::of(workflow) };
        let chat_id = store.create_chat(&self.scope, new).await.unwrap().chat_id;
        let (lifecycle, said) = (Lifecycle::Active, Vec::new());
        self.chats.push(Model { chat_id, owner, origin: None, lifecycle, said });
    }

    async fn take(&mut self, store: &dyn Store, sealed: Option<&Database>, step: Step, text: &str) {
        let Step { kind, chat, number } = step;
        let chat = chat % self.chats.len();
        let (scope, one) = (&self.scope.clone(), &self.chats[chat].chat_id.clone());
        let is_open = self.chats[chat].lifecycle < Lifecycle::Deleted;
        let message = number.checked_rem(self.chats[chat].said.len());
        match (kind, message) {
            (Kind::Append, _) => {
                let (count, author) = (number % 12 + 1, number % 3);
                let said = user(author).map(|user_id| Author { user_id, display_name: None });
                let body = MessageBody::new("user", None, text);
                let new = NewMessage { event_id: None, author: said, body };
                let appended = store.append(scope, one, vec![new; count]).await;
                assert_eq!(appended.is_ok(), is_open, "{appended:?}");
                let held = &mut self.chats[chat];
                if is_open {
                    held.lifecycle = Lifecycle::Active;
                    let said = Said { text: Some(text.to_owned()), author };
                    held.said.extend(vec![said; count]);
                }
            }
            (Kind::Edit, Some(message)) => {
                let edit = MessageEdit { content: Some(text.into()), ..MessageEdit::default() };
                let edited = store.update_message(scope, one, message as u64, edit).await;
                let held = &mut self.chats[chat].said[message];
                assert_eq!(edited.is_ok(), is_open && held.text.is_some(), "{edited:?}");
                if edited.is_ok() {
                    held.text = Some(text.to_owned());
                }
            }
            (Kind::Delete, Some(message)) => {
                let deleted = store.delete_message(scope, one, message as u64).await;
                assert_eq!(deleted.is_ok(), is_open, "{deleted:?}");
                if is_open {
                    self.chats[chat].said[message].text = None;
                }
            }
            (Kind::Fork, _) => self.fork(store, chat, number).await,
            (Kind::Seal, _) => {
                if let Some(database) = sealed.filter(|_| is_open) {
                    let sealing = database.seal(&scope.app_id, one, Interruption::Never);
                    sealing.await.unwrap();
                }
            }
            (Kind::Move, _) => {
                let lifecycle = Lifecycle::ALL[number % 3];
                let change = SessionChange::to_lifecycle(lifecycle);
                let changed = store.change_chat(&scope.finding_deleted(), one, change).await;
                let held = &mut self.chats[chat].lifecycle;
                assert_eq!(changed.is_ok(), *held != Lifecycle::Purged, "{changed:?}");
                if changed.is_ok() {
                    *held = lifecycle;
                }
            }
            (Kind::Purge, _) => {
                let purged = store.purge_chat(&Actor::command_line(), scope, one, None).await;
                let held = &mut self.chats[chat];
                assert_eq!(purged.unwrap(), held.lifecycle != Lifecycle::Purged);
                held.purge();
            }
            (Kind::Erase, _) => self.erase(store, number % 2).await,
            (Kind::Edit | Kind::Delete, None) => {}
        }
    }

    async fn fork(&mut self, store: &dyn Store, source: usize, number: usize) {
        let held = &self.chats[source];
        let sequence = number % (held.said.len() + 1);
        let owner = number % 3;
        let fork =
            NewFork { sequence: Some(sequence as u64), user_id: user(owner), ..NewFork::default() };
        let fork = store.fork_chat(&self.scope, &held.chat_id, fork).await;
        assert_eq!(fork.is_ok(), held.lifecycle < Lifecycle::Deleted, "{fork:?}");
        let Ok(fork) = fork else { return };
        let said = held.said[..sequence].to_vec();
        let owner = users().iter().position(|user| Some(user) == fork.user_id.as_ref());
        self.chats.push(Model {
            chat_id: fork.chat_id,
            owner: owner.unwrap_or(users().len()),
            origin: Some((source, sequence)),
            lifecycle: Lifecycle::Active,
            said,
        });
    }

    async fn erase(&mut self, store: &dyn Store, person: usize) {
        let (actor, app_id) = (Actor::command_line(), &self.scope.app_id);
        let user_id = user(person).unwrap();
        let begun = store.begin_erasure(&actor, app_id, &user_id).await.unwrap();
        loop {
            let erasure = store.continue_erasure(app_id, begun.pseudonym, 3).await.unwrap();
            if erasure.unwrap().finished_at.is_some() {
                break;
            }
        }
        for chat in 0..self.chats.len() {
            if self.chats[chat].lifecycle == Lifecycle::Purged {
                continue;
            }
            if self.chats[chat].owner == person {
                self.forget_in_forks(chat);
                self.chats[chat].purge();
            }
        }
        for said in self.chats.iter_mut().flat_map(|chat| &mut chat.said) {
            if said.author == person {
                said.text = None;
                said.author = users().len();
            }
        }
    }

    /// Forks lose what they have taken over from an erased chat, but not what that has taken over itself.
    fn forget_in_forks(&mut self, chat: usize) {
        let start = self.chats[chat].origin.map_or(0, |(_, sequence)| sequence);
        let mut spans: Vec<(usize, Range<usize>)> = vec![(chat, start..usize::MAX)];
        while let Some((source, span)) = spans.pop() {
            for (index, fork) in self.chats.iter_mut().enumerate() {
                let Some((_, taken)) = fork.origin.filter(|(of, _)| *of == source) else {
                    continue;
                };
                let inherited = span.start..span.end.min(taken);
                for said in fork.said.iter_mut().take(inherited.end).skip(inherited.start) {
                    said.text = None;
                }
                spans.push((index, inherited));
            }
        }
    }

    /// Every chat is wholly there, or wholly gone.
    async fn compare(&self, store: &dyn Store) -> TestCaseResult {
        for Model { chat_id, lifecycle, said, .. } in &self.chats {
            let scope = &self.scope.finding_deleted();
            let history: Result<Vec<Message>, _> =
                store.history(scope, chat_id).try_collect().await;
            if *lifecycle == Lifecycle::Purged {
                let is_gone = matches!(history, Err(StoreError::ChatNotFound(_)));
                prop_assert!(is_gone, "{}: {:?}", chat_id, history);
                continue;
            }
            let held: Vec<_> = said.iter().map(|said| said.text.clone()).collect();
            let history = history.unwrap();
            prop_assert_eq!(&texts(&history), &held, "{}", chat_id);
            let middle = held.len() / 2;
            let newest = MessageRange::Newest { before: None, limit: middle };
            let newest = store.messages(scope, chat_id, newest).await.unwrap();
            prop_assert_eq!(&texts(&newest.messages), &held[held.len() - middle..]);
            if let Some(message) = history.get(middle) {
                let found = store.get_message_by_id(scope, chat_id, &message.event_id).await;
                prop_assert_eq!(found.unwrap(), Some(message.clone()));
            }
        }
        Ok(())
    }
}

impl Model {
    fn purge(&mut self) {
        self.lifecycle = Lifecycle::Purged;
        self.said.clear();
    }
}

fn texts(messages: &[Message]) -> Vec<Option<String>> {
    let said = |message: &Message| {
        let text = message.body.content.as_str().map(str::to_owned);
        text.filter(|_| message.deleted_at.is_none())
    };
    messages.iter().map(said).collect()
}
