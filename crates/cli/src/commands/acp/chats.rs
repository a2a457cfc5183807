use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt as _;
use persistence::mongo::MongoStore;
use persistence::{
    AuditLog as _, ChatFilter, ChatOrder, ChatSessions as _, Forks as _, Messages as _, StoreError,
};
use records::{
    Actor, AppId, AuditAction, Author, ChatId, ChatSession, EventId, FieldChange, IdError,
    Ids as _, JsonObject, Lifecycle, MessageBody, NewChatSession, NewFork, NewMessage, NewTurn,
    Permission, Scope, SessionChange, StackFrame, StackId, Step, StepKind, TurnId, TurnMessage,
    TurnOutcome, UserId, Uuid7Ids, WorkflowName,
};
use resume::dialect::{Acp, Dialect as _};
use resume::ingest::{self, Check};
use resume::replay::Form;
use resume::{Options, UnsettledPolicy};
use serde_json::{Value, json};
use service::history::{self, Format, Source};
use tokio::io::AsyncWrite;

use super::fit::fit;
use super::rpc::{Peer, RpcError};
use super::updates::Updates;

/// The fields of the metadata of a chat with the session of the agent and its working directory.
const AGENT_SESSION: &str = "sessionId";
const CWD: &str = "cwd";

/// The most sessions in a list, and how many pages of as many chats are read for it.
const LISTED: usize = 100;
const PAGES_READ: usize = 50;

/// The most characters of an agent's error that are stored.
const ERROR_CHARS: usize = 1_000;

/// How the last line of a history begins; no update has this field.
const END: &str = r#"{"complete":true,"#;

/// The chats of an app, as the sessions of an agent.
#[derive(Clone)]
pub(super) struct Chats {
    pub(super) store: MongoStore,
    pub(super) app_id: AppId,
    pub(super) user_id: Option<UserId>,
    pub(super) workflow_name: WorkflowName,
    pub(super) read_timeout: Duration,
}

/// What a session begins with.
#[derive(Debug)]
pub(super) enum Origin {
    /// Nothing, in this working directory.
    Directory(String),
    /// What was said in another session.
    Fork(Box<ChatSession>),
}

/// How an answer of an agent ended.
#[derive(Debug)]
pub(super) enum Ending {
    Completed,
    /// The client cancelled it, or went away.
    Interrupted,
    Failed(String),
}

impl Chats {
    /// Returns a new id of a session.
    pub(super) fn new_id() -> Result<ChatId, RpcError> {
        Ok(ChatId::parse(Uuid7Ids.mint("chat_"))?)
    }

    /// Creates a session that nothing was said in, with the id that the agent gave it.
    pub(super) async fn create(
        &self,
        chat_id: ChatId,
        agent_session: &str,
        cwd: &str,
    ) -> Result<(), StoreError> {
        let fields = [(AGENT_SESSION, agent_session), (CWD, cwd)];
        let metadata = fields.map(|(field, text)| (field.to_owned(), Value::from(text)));
        let new = NewChatSession {
            chat_id: Some(chat_id),
            user_id: self.user_id.clone(),
            metadata: JsonObject::from_iter(metadata),
            ..NewChatSession::of(self.workflow_name.clone())
        };
        self.store.create_chat(&self.scope(Permission::Create), new).await?;
        Ok(())
    }

    /// Returns the chat of a session.
    pub(super) async fn get(&self, session_id: &str) -> Result<ChatSession, RpcError> {
        let not_found = || RpcError::session_not_found(session_id);
        let chat_id = ChatId::parse(session_id).map_err(|_| not_found())?;
        let chat = self.store.get_chat(&self.scope(Permission::Read), &chat_id).await?;
        chat.filter(|chat| self.is_own(chat)).ok_or_else(not_found)
    }

    /// Returns whether a chat is not that of another person.
    fn is_own(&self, chat: &ChatSession) -> bool {
        self.user_id.is_none() || chat.user_id.is_none() || chat.user_id == self.user_id
    }

    /// Sends everything that was said in a session, and records that it was read.
    pub(super) async fn replay<W: AsyncWrite + Unpin>(
        &self,
        chat_id: &ChatId,
        client: &mut Peer<W>,
    ) -> anyhow::Result<()> {
        let (actor, read) = (Actor::command_line(), AuditAction::ReadChat);
        self.store.record_action(&actor, Some(&self.app_id), Some(chat_id), read).await?;
        let source = Source {
            store: Arc::new(self.store.clone()),
            scope: self.scope(Permission::Read),
            chat_id: chat_id.clone(),
        };
        // A call that has not ended was shown, too.
        let unsettled = Some(UnsettledPolicy::Keep);
        let options = Options { unsettled, ..Options::default() };
        let form = Form { dialect: &Acp, newest: None, options };
        let chunks = history::read(source, form, Format::Ndjson, self.read_timeout).await?;
        let mut chunks = pin!(chunks);
        while let Some(chunk) = chunks.try_next().await? {
            // A chunk consists of whole lines.
            let lines = str::from_utf8(&chunk)?.lines().filter(|line| !line.starts_with(END));
            for update in lines {
                client.update(chat_id.as_str(), update).await?;
            }
        }
        Ok(())
    }

    /// Stores a prompt, which begins a turn.
    pub(super) async fn say(&self, chat: &ChatSession, prompt: &Value) -> Result<TurnId, RpcError> {
        let blocks = prompt.as_array().filter(|blocks| !blocks.is_empty());
        let blocks = blocks.ok_or_else(|| RpcError::invalid_params("prompt must have content"))?;
        let chunk = |content| json!({"sessionUpdate": "user_message_chunk", "content": content});
        let updates: Vec<_> = blocks.iter().map(chunk).collect();
        let refused = ingest::check(&Acp, &updates, Check::Lenient).refused;
        if let Some(violation) = refused.first() {
            let detail = format!("prompt/{}: {}", violation.index, violation.detail);
            return Err(RpcError::invalid_params(detail));
        }
        let id = Uuid7Ids.mint("msg_");
        let message = Acp.parse(Vec::new(), updates).messages.pop();
        let mut message =
            message.ok_or_else(|| RpcError::invalid_params("prompt must have content"))?;
        message.event_id = Some(EventId::parse(&*id)?);
        message.author = self.user_id.clone().map(|user_id| Author { user_id, display_name: None });
        message.body.extra.insert(MessageBody::REQUEST_ID.to_owned(), id.as_str().into());
        self.give_title(chat, &message).await?;
        let scope = self.scope(Permission::Say);
        self.store.append(&scope, &chat.chat_id, vec![message]).await?;
        Ok(TurnId::parse(id)?)
    }

    /// Gives a session without a title the beginning of its first prompt.
    async fn give_title(&self, chat: &ChatSession, message: &NewMessage) -> Result<(), StoreError> {
        const CHARS: usize = 50;
        let text = message.body.content.as_str().unwrap_or_default().trim();
        if chat.title.is_some() || text.is_empty() {
            return Ok(());
        }
        let title: String = text.chars().take(CHARS).collect();
        let change = SessionChange { title: FieldChange::Set(title), ..SessionChange::default() };
        self.store.change_chat(&self.scope(Permission::Manage), &chat.chat_id, change).await?;
        Ok(())
    }

    /// Makes a turn of what an agent has said. An answer that was interrupted or has failed becomes one, too.
    pub(super) fn turn(id: TurnId, updates: Updates, ending: Ending) -> Result<NewTurn, IdError> {
        let parsed = Acp.parse(Vec::new(), updates.into_vec());
        let mut messages: Vec<_> = parsed.messages.into_iter().map(of_turn).collect();
        fit(&mut messages);
        let (outcome, error) = match ending {
            Ending::Completed if messages.is_empty() => {
                (TurnOutcome::Failed, Some("the agent said nothing".to_owned()))
            }
            Ending::Completed => (TurnOutcome::Completed, None),
            Ending::Interrupted => (TurnOutcome::Interrupted, None),
            Ending::Failed(error) => {
                (TurnOutcome::Failed, Some(error.chars().take(ERROR_CHARS).collect()))
            }
        };
        let frame = StackFrame::root(StackId::parse(id.as_str())?);
        let open = Step { error, ..Step::new(StepKind::Llm, frame) };
        let steps = if outcome == TurnOutcome::Completed { Vec::new() } else { vec![open] };
        Ok(NewTurn { request_id: id, outcome, messages, steps, connector: None, mode: None })
    }

    /// Creates the session that an agent has begun, with the id that the agent gave it.
    pub(super) async fn begin(
        &self,
        chat_id: ChatId,
        agent_session: &str,
        origin: &Origin,
    ) -> Result<(), StoreError> {
        let source = match origin {
            Origin::Directory(cwd) => return self.create(chat_id, agent_session, cwd).await,
            Origin::Fork(source) => source,
        };
        let fork = NewFork {
            chat_id: Some(chat_id),
            user_id: self.user_id.clone(),
            title: source.title.clone(),
            metadata: moved_to(source, agent_session),
            ..NewFork::default()
        };
        self.store.fork_chat(&self.scope(Permission::Create), &source.chat_id, fork).await?;
        Ok(())
    }

    /// Deletes a session. It can be brought back with the API until it is purged.
    pub(super) async fn delete(&self, chat_id: &ChatId) -> Result<(), StoreError> {
        let (actor, deletion) = (Actor::command_line(), AuditAction::DeleteChat);
        self.store.record_action(&actor, Some(&self.app_id), Some(chat_id), deletion).await?;
        let change = SessionChange::to_lifecycle(Lifecycle::Deleted);
        self.store.change_chat(&self.scope(Permission::Manage), chat_id, change).await?;
        Ok(())
    }

    /// Returns the session of the agent in which a chat goes on.
    pub(super) fn agent_session(chat: &ChatSession) -> Option<&str> {
        chat.metadata.get(AGENT_SESSION)?.as_str()
    }

    /// Stores that a chat goes on in another session of the agent.
    pub(super) async fn move_to(
        &self,
        chat: &ChatSession,
        agent_session: &str,
    ) -> Result<(), StoreError> {
        let metadata = Some(moved_to(chat, agent_session));
        let change = SessionChange { metadata, ..SessionChange::default() };
        self.store.change_chat(&self.scope(Permission::Manage), &chat.chat_id, change).await?;
        Ok(())
    }

    /// Lists the sessions that were last active, in a working directory if one is given.
    pub(super) async fn list(&self, cwd: Option<&str>) -> Result<Value, RpcError> {
        let filter = ChatFilter { order: ChatOrder::Active, ..ChatFilter::default() };
        let scope = self.scope(Permission::Read);
        let session_of = |chat: ChatSession| {
            // The protocol has no sessions without one.
            let directory = chat.metadata.get(CWD)?.as_str()?;
            cwd.is_none_or(|cwd| cwd == directory).then(|| {
                json!({
                    "sessionId": chat.chat_id.as_str(), "cwd": directory, "title": chat.title,
                    "updatedAt": chat.last_active_at().to_rfc3339(),
                })
            })
        };
        let (mut sessions, mut after) = (Vec::new(), None);
        for _ in 0..PAGES_READ {
            let page = self.store.list_chats(&scope, &filter, LISTED, after.as_ref()).await?;
            sessions.extend(
                page.chats.into_iter().filter(|chat| self.is_own(chat)).filter_map(session_of),
            );
            after = page.next;
            if after.is_none() || sessions.len() >= LISTED {
                break;
            }
        }
        sessions.truncate(LISTED);
        Ok(json!({"sessions": sessions}))
    }

    pub(super) fn scope(&self, permission: Permission) -> Scope {
        Scope::service(self.app_id.clone()).needing(permission)
    }
}

/// Returns the metadata of a chat that goes on in another session of the agent.
fn moved_to(chat: &ChatSession, agent_session: &str) -> JsonObject {
    let mut metadata = chat.metadata.clone();
    metadata.insert(AGENT_SESSION.to_owned(), agent_session.into());
    metadata
}

/// Returns a message of a turn, which keeps the id that the agent gave it.
fn of_turn(message: NewMessage) -> TurnMessage {
    let NewMessage { event_id, mut body, .. } = message;
    if let Some(id) = event_id {
        body.extra.insert("message_id".to_owned(), id.as_str().into());
    }
    TurnMessage { body, author: None }
}
