use std::time::Instant;

use anyhow::{Result, ensure};
use futures::TryStreamExt as _;
use indicatif::ProgressBar;
use persistence::mongo::MongoStore;
use persistence::{Artifacts as _, ChatSessions as _, Contexts as _, Messages as _};
use records::{
    AppId, ChatId, EventId, MessageBody, NewArtifact, NewChatSession, NewMessage, Scope,
    WorkflowName,
};
use serde_json::{Map, Value};

use super::Cost;
use crate::client::APP;

/// A chat whose messages all have the same size.
pub(super) struct GrowingChat<'a> {
    store: &'a MongoStore,
    scope: Scope,
    chat_id: ChatId,
    message_bytes: usize,
}

const MEBIBYTE: usize = 1 << 20;

impl<'a> GrowingChat<'a> {
    pub(super) async fn create(store: &'a MongoStore, message_bytes: usize) -> Result<Self> {
        let scope = Scope::service(AppId::parse(APP)?);
        let new = NewChatSession::of(WorkflowName::parse("Growth")?);
        let chat_id = store.create_chat(&scope, new).await?.chat_id;
        Ok(Self { store, scope, chat_id, message_bytes })
    }

    /// Writes a context snapshot and an artifact of 1 MiB each.
    pub(super) async fn lade(&self) -> Result<()> {
        let data = || Map::from_iter([("text".to_owned(), Value::from(text(0, MEBIBYTE)))]);
        self.store.update_context_snapshot(&self.scope, &self.chat_id, data()).await?;
        let artifact = NewArtifact { payload: data().into(), ..NewArtifact::default() };
        self.store.update_last_artifact(&self.scope, &self.chat_id, artifact).await?;
        Ok(())
    }

    /// Appends messages in sequence, each after the acknowledgement of the one before.
    pub(super) async fn grow(&self, messages: usize, progress: &ProgressBar) -> Result<Cost> {
        begin(progress, "appending", messages);
        let mut cost = Cost::of(self.message_bytes);
        for number in 0..messages {
            let message = self.message(number)?;
            let sent = Instant::now();
            let append = self.store.append(&self.scope, &self.chat_id, vec![message]).await?;
            cost.add(sent.elapsed());
            ensure!(append.last_sequence == number as u64 + 1, "a sequence was skipped");
            progress.inc(1);
        }
        Ok(cost)
    }

    /// Checks that the chat holds exactly the appended messages, in order.
    pub(super) async fn check(&self, messages: usize, progress: &ProgressBar) -> Result<()> {
        begin(progress, "reading", messages);
        let mut history = self.store.history(&self.scope, &self.chat_id);
        let mut number = 0;
        while let Some(message) = history.try_next().await? {
            let expected = self.message(number)?;
            ensure!(message.sequence == number as u64, "message {number} has another sequence");
            ensure!(Some(message.event_id) == expected.event_id, "message {number} is another");
            ensure!(message.body == expected.body, "message {number} has changed");
            number += 1;
            progress.inc(1);
        }
        ensure!(number == messages, "{number} of {messages} messages are there");
        Ok(())
    }

    fn message(&self, number: usize) -> Result<NewMessage> {
        let event_id = EventId::parse(format!("evt-{number}"))?;
        let content = text(number, self.message_bytes);
        let body = MessageBody::new("assistant", Some("planner"), content);
        Ok(NewMessage { event_id: Some(event_id), ..body.into() })
    }
}

fn begin(progress: &ProgressBar, what: &'static str, messages: usize) {
    progress.reset();
    progress.set_message(what);
    progress.set_length(messages as u64);
}

/// Text of a given size, different for each number, that compresses little.
fn text(number: usize, bytes: usize) -> String {
    let mut state = number as u64;
    let mut text = format!("{number} ");
    while text.len() < bytes {
        // Knuth's linear congruential generator.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = format!("{:x} ", state >> 16);
        text.push_str(&word);
    }
    text.truncate(bytes);
    text
}
