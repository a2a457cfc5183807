//! What a client sends.

use std::io;

use records::ChatSession;
use serde_json::{Value, json};

use super::{Load, Pending, Proxy};
use crate::commands::acp::chats::{Chats, Origin};
use crate::commands::acp::rpc::{Incoming, RpcError};

impl Proxy<'_> {
    /// Passes a message of the client on.
    pub(super) async fn take_from_client(&mut self, line: &[u8]) -> io::Result<()> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let incoming = match Incoming::parse(line) {
            Ok(incoming) => incoming,
            Err(error) => return self.client.answer(&Value::Null, Err(error)).await,
        };
        let id = incoming.id().cloned();
        match (incoming.method(), id) {
            (Some("initialize"), Some(id)) => {
                self.pending.insert(id.to_string(), Pending::Initialize { id });
            }
            (Some("session/new"), Some(id)) => {
                let cwd = incoming.params()["cwd"].as_str().unwrap_or_default().to_owned();
                let origin = Origin::Directory(cwd);
                self.pending.insert(id.to_string(), Pending::Begin { id, origin });
            }
            (Some("session/load" | "session/resume"), Some(id)) => {
                return match self.load(id.clone(), &incoming).await {
                    Ok(sent) => sent,
                    Err(error) => self.client.answer(&id, Err(error)).await,
                };
            }
            // Sessions are those that can be loaded, under the ids that the client knows.
            (Some("session/list"), Some(id)) => {
                let listed = self.chats.list(incoming.params()["cwd"].as_str()).await;
                return self.client.answer(&id, listed).await;
            }
            (Some("session/prompt"), Some(id)) => {
                if let Err(error) = self.prompt(&id, &incoming).await {
                    return self.client.answer(&id, Err(error)).await;
                }
            }
            (Some("session/fork"), Some(id)) => match self.known(&incoming).await {
                Ok(chat) => {
                    let origin = Origin::Fork(chat);
                    self.pending.insert(id.to_string(), Pending::Begin { id, origin });
                }
                Err(error) => return self.client.answer(&id, Err(error)).await,
            },
            (Some("session/delete"), Some(id)) => {
                let deleted = self.delete(&id, &incoming).await;
                match deleted {
                    // The agent deletes its session, too, and answers.
                    Ok(None) => {}
                    Ok(Some(result)) => return self.client.answer(&id, Ok(result)).await,
                    Err(error) => return self.client.answer(&id, Err(error)).await,
                }
            }
            _ => {}
        }
        let of_client = incoming.session_id().unwrap_or_default();
        let of_agent = self.sessions.for_agent(of_client);
        if of_agent == of_client {
            return self.agent.forward(line).await;
        }
        let of_agent = of_agent.to_owned();
        self.agent.send(&incoming.about(&of_agent)).await
    }

    /// Returns the chat of the session that a request is about, whose session of the agent is known then.
    async fn known(&mut self, incoming: &Incoming) -> Result<Box<ChatSession>, RpcError> {
        let session_id = incoming.session_id();
        let session_id =
            session_id.ok_or_else(|| RpcError::invalid_params("sessionId is required"))?;
        let chat = Box::new(self.chats.get(session_id).await?);
        if !self.sessions.has(session_id) {
            let agent_session = Chats::agent_session(&chat).unwrap_or(session_id);
            self.sessions.open(&chat.chat_id, agent_session);
        }
        Ok(chat)
    }

    /// Replays a session if it is loaded and not only resumed, and lets the agent go on with it.
    async fn load(&mut self, id: Value, incoming: &Incoming) -> Result<io::Result<()>, RpcError> {
        let is_loaded = incoming.method() == Some("session/load");
        let is_known = self.sessions.has(incoming.session_id().unwrap_or_default());
        let chat = self.known(incoming).await?;
        let agent_session = self.sessions.for_agent(chat.chat_id.as_str()).to_owned();
        let is_answering = is_known && self.turns.so_far(&agent_session).is_some();
        if !is_answering {
            self.settle(&agent_session).await?;
            self.chats.recover(&chat.chat_id).await?;
        }
        if is_loaded {
            let replayed = self.chats.replay(&chat.chat_id, &mut self.client).await;
            replayed.map_err(|error| RpcError::internal(format!("{error:#}")))?;
        }
        // What the agent would replay meanwhile could not be told from what it says.
        if is_answering {
            let so_far = self.turns.so_far(&agent_session).unwrap_or_default();
            for update in so_far.iter().filter(|_| is_loaded) {
                let sent = self.client.update(chat.chat_id.as_str(), &update.to_string()).await;
                if sent.is_err() {
                    return Ok(sent);
                }
            }
            return Ok(self.client.answer(&id, Ok(json!({}))).await);
        }
        let method = if self.resumes && !(is_loaded && self.loads) {
            Some("session/resume")
        } else {
            self.loads.then_some("session/load")
        };
        let has_session = Chats::agent_session(&chat).is_some();
        let load = Load { id, chat, params: incoming.params().clone() };
        Ok(match method.filter(|_| has_session) {
            Some(method) => {
                let mut params = load.params.clone();
                params["sessionId"] = agent_session.as_str().into();
                self.loading.insert(agent_session.clone());
                self.ask(method, params, Pending::Load { load, agent_session }).await
            }
            None => self.begin_for(load).await,
        })
    }

    /// Deletes a session; the agent is asked as well if it can, and answers then.
    async fn delete(&mut self, id: &Value, incoming: &Incoming) -> Result<Option<Value>, RpcError> {
        let chat = self.known(incoming).await?;
        if self.deletes {
            let delete = Pending::Delete { id: id.clone(), chat_id: chat.chat_id };
            self.pending.insert(id.to_string(), delete);
            return Ok(None);
        }
        self.chats.delete(&chat.chat_id).await?;
        Ok(Some(json!({})))
    }

    /// Lets the agent begin a session in place of one that it cannot load. It does not know what was said before.
    pub(super) async fn begin_for(&mut self, load: Load) -> io::Result<()> {
        let mut params = load.params.clone();
        if let Some(params) = params.as_object_mut() {
            params.shift_remove("sessionId");
        }
        let chat_id = load.chat.chat_id.as_str();
        tracing::warn!(chat_id, "the agent cannot load the session, and begins without its memory");
        self.ask("session/new", params, Pending::NewForLoad { load }).await
    }

    /// Sends a request of its own to the agent.
    async fn ask(&mut self, method: &str, params: Value, pending: Pending) -> io::Result<()> {
        self.requests += 1;
        let id = format!("reprise-{}", self.requests);
        self.pending.insert(Value::from(id.as_str()).to_string(), pending);
        self.agent.request(&id, method, params).await
    }

    /// Stores a prompt, before the agent sees it.
    async fn prompt(&mut self, id: &Value, incoming: &Incoming) -> Result<(), RpcError> {
        let chat = self.known(incoming).await?;
        let agent_session = self.sessions.for_agent(chat.chat_id.as_str()).to_owned();
        if self.turns.so_far(&agent_session).is_some() {
            let detail = "the session has a prompt that is being answered";
            return Err(RpcError::invalid_request(detail));
        }
        self.settle(&agent_session).await?;
        if self.chats.recover(&chat.chat_id).await? {
            let detail = "another process is answering a prompt of the session; if it has ended, try again in 30 seconds";
            return Err(RpcError::invalid_request(detail));
        }
        let turn_id = self.chats.say(&chat, &incoming.params()["prompt"]).await?;
        self.turns.begin(&agent_session, chat.chat_id, turn_id);
        let prompt = Pending::Prompt { id: id.clone(), agent_session };
        self.pending.insert(id.to_string(), prompt);
        Ok(())
    }
}
