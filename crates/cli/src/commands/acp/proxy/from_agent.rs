//! What an agent sends.

use std::io;

use persistence::StoreError;
use records::ChatId;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::turns::Response;
use super::{Load, Pending, Proxy};
use crate::commands::acp::chats::{Chats, Ending, Origin};
use crate::commands::acp::rpc::{Incoming, RpcError};
use crate::commands::acp::updates::is_said;

impl Proxy<'_> {
    /// Passes a message of the agent on.
    pub(super) async fn take_from_agent(&mut self, line: &[u8]) -> io::Result<()> {
        let Ok(incoming) = Incoming::parse(line) else {
            return self.pass_unread(line).await;
        };
        if incoming.method().is_none() {
            let id = incoming.id().map(Value::to_string).unwrap_or_default();
            return match self.pending.remove(&id) {
                Some(pending) => self.take_response(pending, incoming.0, line).await,
                None => self.client.forward(line).await,
            };
        }
        let of_agent = incoming.session_id().unwrap_or_default();
        let chat_id = self.sessions.chat(of_agent).cloned();
        if let (Some("session/update"), Some(chat_id)) = (incoming.method(), &chat_id) {
            let update = &incoming.params()["update"];
            if self.loading.contains(of_agent) && is_shown_by_replay(update) {
                return Ok(());
            }
            self.turns.hear(of_agent, chat_id, update);
        }
        match chat_id {
            Some(chat_id) if chat_id.as_str() != of_agent => {
                self.client.send(&incoming.about(chat_id.as_str())).await
            }
            _ => self.client.forward(line).await,
        }
    }

    /// Passes on what the client may read although it could not be read here, because it is nested very deeply.
    async fn pass_unread(&mut self, line: &[u8]) -> io::Result<()> {
        if serde_json::from_slice::<IgnoredAny>(line).is_ok() && line.first() == Some(&b'{') {
            tracing::warn!("the agent wrote a message that cannot be stored");
            return self.client.forward(line).await;
        }
        tracing::warn!("the agent wrote a line that is no message");
        Ok(())
    }

    /// Takes the response to a request that is waited for.
    async fn take_response(
        &mut self,
        pending: Pending,
        mut response: Value,
        line: &[u8],
    ) -> io::Result<()> {
        let is_error = response.get("result").is_none();
        match pending {
            Pending::Initialize { .. } => {
                let result = response.get_mut("result").and_then(Value::as_object_mut);
                let Some(result) = result else { return self.client.forward(line).await };
                if let Some(capabilities) = object_in(result, "agentCapabilities") {
                    let loads = capabilities.insert("loadSession".to_owned(), true.into());
                    self.loads = loads == Some(true.into());
                    if let Some(of_sessions) = object_in(capabilities, "sessionCapabilities") {
                        let mut offer = |name: &str| {
                            of_sessions
                                .insert(name.to_owned(), json!({}))
                                .is_some_and(|it| it.is_object())
                        };
                        offer("list");
                        self.resumes = offer("resume");
                        self.deletes = offer("delete");
                    }
                }
                self.client.send(&response).await
            }
            Pending::Begin { id, origin } => {
                let session = response.pointer_mut("/result/sessionId");
                let session = session.filter(|session| session.is_string());
                let Some(session) = session else { return self.client.forward(line).await };
                match self.begin(session.as_str().unwrap_or_default(), &origin).await {
                    Ok(chat_id) => {
                        *session = chat_id.as_str().into();
                        self.client.send(&response).await
                    }
                    Err(error) => self.client.answer(&id, Err(error)).await,
                }
            }
            Pending::Load { load, agent_session } => {
                self.loading.remove(&agent_session);
                if is_error {
                    return self.begin_for(load).await;
                }
                self.client.answer(&load.id, Ok(response["result"].take())).await
            }
            Pending::NewForLoad { load } => self.finish_load(load, response).await,
            Pending::Delete { id, chat_id } => {
                if !is_error && let Err(error) = self.chats.delete(&chat_id).await {
                    return self.client.answer(&id, Err(error.into())).await;
                }
                self.client.forward(line).await
            }
            Pending::Prompt { id, agent_session } => {
                let response_to = Response { id, line: line.to_vec() };
                let ending = ending_of(&response);
                match self.turns.end(&agent_session, ending, Some(response_to)) {
                    None => Ok(()),
                    Some(_) => self.client.forward(line).await,
                }
            }
        }
    }

    /// Creates the chat of a session that the agent has begun, under its id if that can be the id of a new chat.
    async fn begin(&mut self, agent_session: &str, origin: &Origin) -> Result<ChatId, RpcError> {
        let mut chat_id = ChatId::parse(agent_session).or_else(|_| Chats::new_id())?;
        match self.chats.begin(chat_id.clone(), agent_session, origin).await {
            // An agent may number its sessions anew in each process.
            Err(StoreError::ChatExists(_)) => {
                chat_id = Chats::new_id()?;
                self.chats.begin(chat_id.clone(), agent_session, origin).await?;
            }
            created => created?,
        }
        self.sessions.open(&chat_id, agent_session);
        Ok(chat_id)
    }

    /// Goes on with a loaded session in the one that the agent has begun in its place.
    async fn finish_load(&mut self, load: Load, mut response: Value) -> io::Result<()> {
        let Load { id, chat, .. } = load;
        if response.get("result").is_none() {
            response["id"] = id;
            return self.client.send(&response).await;
        }
        let mut result = response["result"].take();
        let session = result.as_object_mut().and_then(|fields| fields.shift_remove("sessionId"));
        let Some(agent_session) = session.as_ref().and_then(Value::as_str) else {
            let refused = Err(RpcError::internal("the agent has begun no session"));
            return self.client.answer(&id, refused).await;
        };
        if let Err(error) = self.chats.move_to(&chat, agent_session).await {
            return self.client.answer(&id, Err(error.into())).await;
        }
        self.sessions.open(&chat.chat_id, agent_session);
        self.client.answer(&id, Ok(result)).await
    }
}

/// Returns the object in a field, a new one if there is no such field; `None` if the field holds something else.
fn object_in<'o>(
    object: &'o mut Map<String, Value>,
    field: &str,
) -> Option<&'o mut Map<String, Value>> {
    object.entry(field).or_insert_with(|| json!({})).as_object_mut()
}

/// Tells how an answer ended by the response to its prompt.
fn ending_of(response: &Value) -> Ending {
    match (&response["result"], &response["error"]) {
        (Value::Null, error) => {
            let message = error["message"].as_str().unwrap_or("the agent failed");
            Ending::Failed(message.to_owned())
        }
        (result, _) if result["stopReason"] == "cancelled" => Ending::Interrupted,
        _ => Ending::Completed,
    }
}

/// Returns whether an update of a session that the agent loads was shown already, when the store replayed it.
fn is_shown_by_replay(update: &Value) -> bool {
    is_said(update) || update["sessionUpdate"] == "user_message_chunk"
}
