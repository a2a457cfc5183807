//! Between a client and another agent: passes their messages on, stores what is said, and replays it.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::process::Stdio;
use std::time::Duration;
use std::{env, io};

use anyhow::{Context as _, bail};
use records::{ChatId, ChatSession, TurnId};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Stdout};
use tokio::process::{ChildStdin, Command};
use tokio::time::timeout;

use super::chats::{Chats, Ending};
use super::rpc::{Incoming, Peer, RpcError};
use super::updates::Updates;

/// How long an agent may take to end after its client has hung up.
const GRACE: Duration = Duration::from_secs(5);

/// Starts an agent, and serves a client until one of the two hangs up.
pub(super) async fn serve(
    chats: &Chats,
    program: &OsStr,
    arguments: &[OsString],
) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    // The settings may hold secrets, which are not for the agent.
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("REPRISE__") {
            command.env_remove(name);
        }
    }
    let mut child =
        command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (stdin, stdout) = stdin.zip(stdout).context("the agent has no pipes")?;
    let mut from_client = BufReader::new(tokio::io::stdin()).lines();
    let mut from_agent = BufReader::new(stdout).lines();
    let mut proxy = Proxy::new(chats, Peer::new(tokio::io::stdout()), Peer::new(stdin));
    loop {
        tokio::select! {
            line = from_client.next_line() => match line? {
                Some(line) => proxy.take_from_client(&line).await?,
                None => break,
            },
            line = from_agent.next_line() => match line? {
                Some(line) => proxy.take_from_agent(&line).await?,
                None => {
                    proxy.abandon("the agent has ended").await?;
                    bail!("the agent has ended: {}", child.wait().await?);
                }
            },
        }
    }
    proxy.interrupt().await?;
    drop(proxy);
    // Its input has ended. If it does not end as well, it is killed when it is dropped.
    let _ended = timeout(GRACE, child.wait()).await;
    Ok(())
}

/// What is known of the messages that pass.
struct Proxy<'a> {
    chats: &'a Chats,
    client: Peer<Stdout>,
    agent: Peer<ChildStdin>,
    /// Whether the agent can load sessions itself.
    loads: bool,
    /// The requests whose responses are changed or stored, by their ids.
    pending: HashMap<String, Pending>,
    /// The sessions of the agent, by the ids of the client, where they differ.
    renamed: HashMap<String, String>,
    /// The sessions that the agent replays: the client has seen everything.
    loading: HashSet<String>,
    /// The prompts that are being answered, by the sessions of the agent.
    turns: HashMap<String, Turn>,
    /// The number of own requests.
    requests: u64,
}

/// A request whose response is waited for.
enum Pending {
    Initialize {
        id: Value,
    },
    New {
        id: Value,
        cwd: String,
    },
    /// The agent loads a session that the client loads.
    Load {
        load: Load,
        agent_session: String,
    },
    /// The agent begins a session in place of one that the client loads.
    NewForLoad {
        load: Load,
    },
    Prompt {
        id: Value,
        agent_session: String,
    },
}

/// A session that the client loads.
struct Load {
    id: Value,
    chat: Box<ChatSession>,
    params: Value,
}

/// A prompt that is being answered.
struct Turn {
    chat_id: ChatId,
    turn_id: TurnId,
    updates: Updates,
}

impl<'a> Proxy<'a> {
    fn new(chats: &'a Chats, client: Peer<Stdout>, agent: Peer<ChildStdin>) -> Self {
        Self {
            chats,
            client,
            agent,
            loads: false,
            pending: HashMap::new(),
            renamed: HashMap::new(),
            loading: HashSet::new(),
            turns: HashMap::new(),
            requests: 0,
        }
    }

    /// Passes a message of the client on.
    async fn take_from_client(&mut self, line: &str) -> io::Result<()> {
        if line.trim().is_empty() {
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
    async fn begin_for(&mut self, load: Load) -> io::Result<()> {
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
        let turn = Turn { chat_id: chat.chat_id, turn_id, updates: Updates::default() };
        self.turns.insert(agent_session.clone(), turn);
        let prompt = Pending::Prompt { id: id.clone(), agent_session };
        self.pending.insert(id.to_string(), prompt);
        Ok(())
    }

    /// Passes a message of the agent on.
    async fn take_from_agent(&mut self, line: &str) -> io::Result<()> {
        let Ok(mut incoming) = Incoming::parse(line) else {
            tracing::warn!("the agent wrote a line that is no message");
            return Ok(());
        };
        if incoming.method().is_none() {
            let id = incoming.id().map(Value::to_string).unwrap_or_default();
            return match self.pending.remove(&id) {
                Some(pending) => self.take_response(pending, incoming.0, line).await,
                None => self.client.forward(line).await,
            };
        }
        let session = incoming.session_id().unwrap_or_default().to_owned();
        if incoming.method() == Some("session/update") {
            if self.loading.contains(&session) {
                return Ok(());
            }
            if let Some(turn) = self.turns.get_mut(&session) {
                turn.updates.push(incoming.0["params"]["update"].clone());
            }
        }
        let known = self.renamed.iter().find(|(_, of_agent)| **of_agent == session);
        match known.map(|(of_client, _)| of_client.clone()) {
            Some(session) => {
                incoming = Incoming(incoming.about(&session));
                self.client.send(&incoming.0).await
            }
            None => self.client.forward(line).await,
        }
    }

    /// Takes the response to a request that is waited for.
    async fn take_response(
        &mut self,
        pending: Pending,
        mut response: Value,
        line: &str,
    ) -> io::Result<()> {
        let is_error = response.get("result").is_none();
        match pending {
            Pending::Initialize { .. } => {
                let result = response.get_mut("result").and_then(Value::as_object_mut);
                let Some(result) = result else { return self.client.forward(line).await };
                let capabilities = result.entry("agentCapabilities").or_insert_with(|| json!({}));
                if let Some(capabilities) = capabilities.as_object_mut() {
                    let loads = capabilities.insert("loadSession".to_owned(), true.into());
                    self.loads = loads == Some(true.into());
                }
                self.client.send(&response).await
            }
            Pending::New { id, cwd } => {
                let session = response.pointer_mut("/result/sessionId");
                let Some(session) = session else { return self.client.forward(line).await };
                match self.begin(session.as_str().unwrap_or_default(), &cwd).await {
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
                self.rename(&load.chat.chat_id, agent_session);
                self.client.answer(&load.id, Ok(response["result"].take())).await
            }
            Pending::NewForLoad { load } => self.finish_load(load, response).await,
            Pending::Prompt { id, agent_session } => {
                match self.end(&agent_session, ending_of(&response)).await {
                    Ok(()) => self.client.forward(line).await,
                    Err(error) => self.client.answer(&id, Err(error)).await,
                }
            }
        }
    }

    /// Creates the chat of a session that the agent has begun, under its id if that can be the id of a chat.
    async fn begin(&mut self, agent_session: &str, cwd: &str) -> Result<ChatId, RpcError> {
        let chat_id = ChatId::parse(agent_session).or_else(|_| Chats::new_id())?;
        self.chats.create(chat_id.clone(), agent_session, cwd).await?;
        self.rename(&chat_id, agent_session.to_owned());
        Ok(chat_id)
    }

    fn rename(&mut self, chat_id: &ChatId, agent_session: String) {
        if chat_id.as_str() != agent_session {
            self.renamed.insert(chat_id.to_string(), agent_session);
        }
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
        let agent_session = session.as_ref().and_then(Value::as_str).unwrap_or_default();
        if let Err(error) = self.chats.move_to(&chat, agent_session).await {
            return self.client.answer(&id, Err(error.into())).await;
        }
        self.rename(&chat.chat_id, agent_session.to_owned());
        self.client.answer(&id, Ok(result)).await
    }

    /// Stores what was answered to the prompt of a session.
    async fn end(&mut self, agent_session: &str, ending: Ending) -> Result<(), RpcError> {
        let Some(turn) = self.turns.remove(agent_session) else { return Ok(()) };
        let Turn { chat_id, turn_id, updates } = turn;
        self.chats.end_turn(&chat_id, turn_id, updates, ending).await
    }

    /// Ends everything because the agent has gone.
    async fn abandon(&mut self, reason: &str) -> io::Result<()> {
        let sessions: Vec<_> = self.turns.keys().cloned().collect();
        for session in sessions {
            let ended = self.end(&session, Ending::Failed(reason.to_owned())).await;
            drop(ended.inspect_err(report_lost));
        }
        for (_, pending) in std::mem::take(&mut self.pending) {
            let id = match pending {
                Pending::Initialize { id }
                | Pending::New { id, .. }
                | Pending::Prompt { id, .. } => id,
                Pending::Load { load, .. } | Pending::NewForLoad { load } => load.id,
            };
            self.client.answer(&id, Err(RpcError::internal(reason))).await?;
        }
        Ok(())
    }

    /// Stores what was said so far, because the client has gone.
    async fn interrupt(&mut self) -> io::Result<()> {
        let sessions: Vec<_> = self.turns.keys().cloned().collect();
        for session in sessions {
            let ended = self.end(&session, Ending::Interrupted).await;
            drop(ended.inspect_err(report_lost));
        }
        Ok(())
    }
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

fn report_lost(error: &RpcError) {
    tracing::error!(error = ?error, "what the agent said could not be stored");
}
