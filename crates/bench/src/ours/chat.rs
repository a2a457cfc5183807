use std::ops::Range;

use anyhow::Result;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use indicatif::ProgressBar;
use persistence::mongo::{Interruption, MongoStore};
use persistence::{
    Artifacts as _, ChatSessions as _, Contexts as _, Members as _, Messages as _, StoreError,
};
use records::{
    AppId, AssistantId, Caller, ChatId, EventId, Member, MemberRole, MessageBody, NewArtifact,
    NewChatSession, NewMessage, Permission, Scope, TeamId, UserId, WorkflowName,
};
use serde_json::{Map, Value};

use super::EventIds;
use crate::messages::Message;
use crate::population::{assistant, team_of, user};

/// How often messages are sent to fill a chat.
const ATTEMPTS: usize = 10;

/// How many chats are created at a time: thousands at once would wait longer than a call may.
const CREATED_AT_ONCE: usize = 64;

/// A chat in the store.
#[derive(Debug, Clone)]
pub(crate) struct Chat {
    pub(crate) store: MongoStore,
    pub(crate) scope: Scope,
    pub(crate) id: ChatId,
}

/// The app that all chats belong to.
pub(crate) const APP: &str = "bench";

impl Chat {
    pub(crate) async fn create(store: &MongoStore) -> Result<Self> {
        Self::create_as(store, NewChatSession::of(WorkflowName::parse("Benchmark")?)).await
    }

    pub(crate) async fn create_many(store: &MongoStore, count: usize) -> Result<Vec<Self>> {
        in_turn((0..count).map(|_| Self::create(store))).await
    }

    /// Creates chats of users, each with a team and an assistant.
    pub(crate) async fn create_owned(
        store: &MongoStore,
        numbers: Range<usize>,
    ) -> Result<Vec<Self>> {
        let create = async |number: usize| {
            let number = u32::try_from(number)?;
            let new = NewChatSession {
                user_id: Some(UserId::parse(user(number))?),
                team_id: Some(TeamId::parse(team_of(number))?),
                assistant_id: Some(AssistantId::parse(assistant(number % 50))?),
                ..NewChatSession::of(WorkflowName::parse("Benchmark")?)
            };
            Self::create_as(store, new).await
        };
        in_turn(numbers.map(create)).await
    }

    async fn create_as(store: &MongoStore, new: NewChatSession) -> Result<Self> {
        let scope = Scope::service(AppId::parse(APP)?);
        let id = store.create_chat(&scope, new).await?.chat_id;
        Ok(Self { store: store.clone(), scope, id })
    }

    /// Adds as many members as a chat may have. Returns the last one.
    pub(crate) async fn add_members(&self) -> Result<UserId> {
        let user = |number| UserId::parse(format!("user_{number}"));
        for number in 0..Member::MAX {
            let (user_id, role) = (user(number)?, MemberRole::Member);
            self.store.put_member(&self.scope, &self.id, &user_id, role).await?;
        }
        Ok(user(Member::MAX - 1)?)
    }

    /// Returns the same chat, in which a member says something.
    pub(crate) fn said_by(&self, user_id: UserId) -> Self {
        let caller = Caller::User { user_id, team_id: None, may_run: false };
        let scope = Scope::new(self.scope.app_id.clone(), caller, Permission::Say);
        Self { scope, ..self.clone() }
    }

    /// Appends messages in batches of the given size.
    pub(crate) async fn fill(
        &self,
        messages: &[Message],
        batch: usize,
        progress: &ProgressBar,
    ) -> Result<()> {
        for messages in messages.chunks(batch) {
            let messages = new_messages(messages, EventIds::Given)?;
            let count = messages.len();
            self.append_again_and_again(messages).await?;
            progress.inc(count as u64);
        }
        Ok(())
    }

    /// Appends messages that have ids. While much is loaded, the disk may keep the server from answering for longer than a
    /// call may take; then they are sent again, as a client does.
    async fn append_again_and_again(&self, messages: Vec<NewMessage>) -> Result<()> {
        for _ in 1..ATTEMPTS {
            match self.store.append(&self.scope, &self.id, messages.clone()).await {
                Err(StoreError::OutcomeUnknown { .. } | StoreError::Unavailable { .. }) => {}
                appended => return Ok(appended.map(drop)?),
            }
        }
        Ok(self.store.append(&self.scope, &self.id, messages).await.map(drop)?)
    }

    /// Seals everything that may be sealed, so that reads do not depend on the progress of background
    /// sealing.
    pub(crate) async fn seal(&self) -> Result<()> {
        Ok(self.store.seal(&self.scope.app_id, &self.id, Interruption::Never).await?)
    }

    /// Writes a context snapshot and an artifact that hold this text.
    pub(crate) async fn lade(&self, text: &str) -> Result<()> {
        let data = || Map::from_iter([("text".to_owned(), Value::from(text))]);
        self.store.update_context_snapshot(&self.scope, &self.id, data()).await?;
        let artifact = NewArtifact { payload: data().into(), ..NewArtifact::default() };
        self.store.update_last_artifact(&self.scope, &self.id, artifact).await?;
        Ok(())
    }
}

/// Converts messages to the store's input.
pub(super) fn new_messages(messages: &[Message], ids: EventIds) -> Result<Vec<NewMessage>> {
    let new_message = |message: &Message| {
        let event_id = match ids {
            EventIds::Given => Some(EventId::parse(message.event_id.as_str())?),
            EventIds::Minted => None,
        };
        let content = message.content.as_str();
        let mut body = MessageBody::new(message.role, Some(message.name), content);
        body.timestamp = Some(message.timestamp.clone());
        Ok(NewMessage { event_id, ..body.into() })
    };
    messages.iter().map(new_message).collect()
}

/// Awaits the creation of chats, some at a time, and returns them in their order.
async fn in_turn(
    created: impl Iterator<Item = impl Future<Output = Result<Chat>>>,
) -> Result<Vec<Chat>> {
    stream::iter(created).buffered(CREATED_AT_ONCE).try_collect().await
}
