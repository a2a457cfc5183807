//! What a client sends.

use std::io;

use serde_json::Value;

use super::{Load, Pending, Proxy, Turn};
use crate::commands::acp::chats::Chats;
use crate::commands::acp::rpc::{Incoming, RpcError};
use crate::commands::acp::updates::Updates;

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
                self.pending.insert(id.to_string(), Pending::New { id, cwd });
            }
            (Some("session/load"), Some(id)) => {
                let params = incoming.params().clone();
                return match self.load(id.clone(), params).await {
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
            _ => {}
        }
        let renamed = incoming.session_id().and_then(|it| self.renamed.get(it)).cloned();
        match renamed {
            Some(session) => self.agent.send(&incoming.about(&session)).await,
            None => self.agent.forward(line).await,
        }
    }

    /// Replays a session, and lets the agent go on with it.
    async fn load(&mut self, id: Value, params: Value) -> Result<io::Result<()>, RpcError> {
        let session_id = params["sessionId"].as_str();
        let session_id =
            session_id.ok_or_else(|| RpcError::invalid_params("sessionId is required"))?;
        let chat = Box::new(self.chats.get(session_id).await?);
        let replayed = self.chats.replay(&chat.chat_id, &mut self.client).await;
        replayed.map_err(|error| RpcError::internal(format!("{error:#}")))?;
        let agent_session = Chats::agent_session(&chat).filter(|_| self.loads).map(str::to_owned);
        let load = Load { id, chat, params };
        Ok(match agent_session {
            Some(agent_session) => {
                let mut params = load.params.clone();
                params["sessionId"] = agent_session.as_str().into();
                self.loading.insert(agent_session.clone());
                self.ask("session/load", params, Pending::Load { load, agent_session }).await
            }
            None => self.begin_for(load).await,
        })
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
        let session_id = incoming.session_id().unwrap_or_default();
        let agent_session =
            self.renamed.get(session_id).map_or(session_id, String::as_str).to_owned();
        if self.turns.contains_key(&agent_session) {
            let detail = "the session has a prompt that is being answered";
            return Err(RpcError::invalid_request(detail));
        }
        let chat = self.chats.get(session_id).await?;
        let turn_id = self.chats.say(&chat, &incoming.params()["prompt"]).await?;
        let turn = Turn { chat_id: chat.chat_id, id: turn_id, updates: Updates::default() };
        self.turns.insert(agent_session.clone(), turn);
        let prompt = Pending::Prompt { id: id.clone(), agent_session };
        self.pending.insert(id.to_string(), prompt);
        Ok(())
    }
}
