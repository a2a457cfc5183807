//! A tree of forked chats has the same contents as a model with one list for each chat.

use std::sync::Arc;

use futures::TryStreamExt as _;
use persistence::memory::MemoryStore;
use persistence::mongo::Interruption;
use persistence::{MessageRange, Store};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use records::{
    AppId, ChatId, Ids as _, Message, MessageBody, MessageEdit, NewChatSession, NewFork, Scope,
    Uuid7Ids, WorkflowName,
};

use super::{config, run};
use crate::mongo::database::Database;

/// A step. Its numbers select one of the existing chats and messages, modulo their count.
#[derive(Debug, Clone)]
enum Step {
    Append { chat: usize, count: usize },
    Edit { chat: usize, message: usize },
    Delete { chat: usize, message: usize },
    Fork { chat: usize, sequence: usize },
    Seal { chat: usize },
}

/// The contents of each chat by sequence; `None` for a deleted message.
type Model = Vec<Vec<Option<String>>>;

struct Tree {
    scope: Scope,
    chats: Vec<ChatId>,
    model: Model,
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
    let step = (0..12_usize, 0..60_usize, 0..12_u32).prop_map(|(chat, number, kind)| match kind {
        0..3 => Step::Append { chat, count: number % 12 + 1 },
        3..6 => Step::Edit { chat, message: number },
        6 => Step::Delete { chat, message: number },
        7..9 => Step::Fork { chat, sequence: number },
        _ => Step::Seal { chat },
    });
    prop::collection::vec(step, 1..60)
}

async fn play(
    store: Arc<dyn Store>,
    sealed: Option<&Database>,
    steps: Vec<Step>,
) -> TestCaseResult {
    let scope = Scope::service(AppId::parse(Uuid7Ids.mint("app_")).unwrap());
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    let root = store.create_chat(&scope, new).await.unwrap().chat_id;
    let mut tree = Tree { scope, chats: vec![root], model: vec![Vec::new()] };
    for (number, step) in steps.into_iter().enumerate() {
        tree.take(&*store, sealed, step, &format!("step {number}")).await;
        if number % 5 == 0 {
            tree.compare(&*store).await?;
        }
    }
    tree.compare(&*store).await
}

impl Tree {
    async fn take(&mut self, store: &dyn Store, sealed: Option<&Database>, step: Step, text: &str) {
        let (Step::Append { chat, .. }
        | Step::Edit { chat, .. }
        | Step::Delete { chat, .. }
        | Step::Fork { chat, .. }
        | Step::Seal { chat }) = step;
        let chat = chat % self.chats.len();
        let (scope, chat_id) = (&self.scope, &self.chats[chat].clone());
        let held = &mut self.model[chat];
        match step {
            Step::Append { count, .. } => {
                let body = MessageBody::new("user", None, text);
                store.append(scope, chat_id, vec![body.into(); count]).await.unwrap();
                held.extend(vec![Some(text.to_owned()); count]);
            }
            Step::Edit { message, .. } if !held.is_empty() => {
                let message = message % held.len();
                let content = Some(text.into());
                let edit = MessageEdit { content, ..MessageEdit::default() };
                let edited = store.update_message(scope, chat_id, message as u64, edit).await;
                assert_eq!(edited.is_ok(), held[message].is_some(), "{edited:?}");
                held[message] = held[message].is_some().then(|| text.to_owned());
            }
            Step::Delete { message, .. } if !held.is_empty() => {
                let message = message % held.len();
                store.delete_message(scope, chat_id, message as u64).await.unwrap();
                held[message] = None;
            }
            Step::Fork { sequence, .. } => {
                let sequence = sequence % (held.len() + 1);
                let fork = NewFork { sequence: Some(sequence as u64), ..NewFork::default() };
                let fork = store.fork_chat(scope, chat_id, fork).await.unwrap();
                let taken_over = held[..sequence].to_vec();
                self.chats.push(fork.chat_id);
                self.model.push(taken_over);
            }
            Step::Seal { .. } => {
                if let Some(database) = sealed {
                    let sealing = database.seal(&scope.app_id, chat_id, Interruption::Never);
                    sealing.await.unwrap();
                }
            }
            Step::Edit { .. } | Step::Delete { .. } => {}
        }
    }

    async fn compare(&self, store: &dyn Store) -> TestCaseResult {
        for (chat_id, held) in self.chats.iter().zip(&self.model) {
            let history: Vec<Message> =
                store.history(&self.scope, chat_id).try_collect().await.unwrap();
            prop_assert_eq!(&said(&history), held, "{}", chat_id);
            let middle = held.len() / 2;
            let newest = MessageRange::Newest { before: None, limit: middle };
            let newest = store.messages(&self.scope, chat_id, newest).await.unwrap();
            prop_assert_eq!(&said(&newest.messages), &held[held.len() - middle..]);
            if let Some(message) = history.get(middle) {
                let found = store.get_message_by_id(&self.scope, chat_id, &message.event_id).await;
                prop_assert_eq!(found.unwrap(), Some(message.clone()));
            }
        }
        Ok(())
    }
}

fn said(messages: &[Message]) -> Vec<Option<String>> {
    let said = |message: &Message| {
        let text = message.body.content.as_str().map(str::to_owned);
        text.filter(|_| message.deleted_at.is_none())
    };
    messages.iter().map(said).collect()
}
