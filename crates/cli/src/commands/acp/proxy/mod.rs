//! Between a client and another agent: passes their messages on, stores what is said, and replays it.

mod from_agent;
mod from_client;
mod process;
mod sessions;
mod turns;

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::pin::pin;
use std::time::Duration;

use anyhow::bail;
use persistence::StoreError;
use records::{ChatId, ChatSession};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWrite, BufReader, DuplexStream, Split, Stdin};
use tokio::process::{Child, ChildStdout};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::chats::{Chats, Ending, Origin};
use super::rpc::{Peer, RpcError};
use crate::signals::told_to_stop;
use process::AgentProcess;
use sessions::Sessions;
use turns::{Attempt, Turns};

/// How long an agent may take to end after its client has hung up.
const GRACE: Duration = Duration::from_secs(5);

/// How long the store may be away after one side has hung up, until what was said is lost.
const MAX_STORE_WAIT: Duration = Duration::from_secs(15);

/// How many bytes wait for a side that does not read, until the other side has to wait as well.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// Starts an agent, and serves a client until one of the two hangs up, or the process is told to stop.
pub(super) async fn serve(
    chats: &Chats,
    program: &OsStr,
    arguments: &[OsString],
) -> anyhow::Result<()> {
    let AgentProcess { mut child, stdin, stdout } = AgentProcess::start(program, arguments)?;
    let mut from_client = BufReader::new(tokio::io::stdin()).split(b'\n');
    let mut from_agent = BufReader::new(stdout).split(b'\n');
    let (to_client, answers) = written(tokio::io::stdout());
    // An agent does not read what it is told while it waits for its own words to be read.
    let (to_agent, _) = written(stdin);
    let mut proxy = Proxy::new(chats, Peer::new(to_client), Peer::new(to_agent));
    let outcome = converse(&mut proxy, &mut child, &mut from_client, &mut from_agent).await;
    drop(proxy);
    // The client may be gone. The input of the agent has ended; if it does not end as well, it is killed when it is dropped.
    let ended = async { tokio::join!(answers, child.wait()) };
    let _ended = timeout(GRACE, ended).await;
    outcome
}

/// Passes messages on until one side hangs up, and stores what was said until then.
async fn converse(
    proxy: &mut Proxy<'_>,
    child: &mut Child,
    from_client: &mut Split<BufReader<Stdin>>,
    from_agent: &mut Split<BufReader<ChildStdout>>,
) -> anyhow::Result<()> {
    match proxy.pass_on(from_client, from_agent).await {
        Ok(Gone::Client) => proxy.finish(|| Ending::Interrupted).await,
        Ok(Gone::Agent) => {
            proxy.abandon("the agent has ended").await;
            bail!("the agent has ended: {}", child.wait().await?);
        }
        Err(error) => {
            proxy.abandon("the connection is broken").await;
            return Err(error.into());
        }
    }
    Ok(())
}

/// Returns what is written to another side without waiting for it, and the task that does so until the writer is dropped.
fn written(
    mut to: impl AsyncWrite + Unpin + Send + 'static,
) -> (DuplexStream, JoinHandle<io::Result<u64>>) {
    let (writer, mut waiting) = tokio::io::duplex(MAX_WAITING_BYTES);
    (writer, tokio::spawn(async move { tokio::io::copy(&mut waiting, &mut to).await }))
}

/// The side that has hung up.
enum Gone {
    /// Or the process was told to stop.
    Client,
    Agent,
}

/// What is known of the messages that pass.
struct Proxy<'a> {
    chats: &'a Chats,
    client: Peer<DuplexStream>,
    agent: Peer<DuplexStream>,
    /// Whether the agent can load sessions itself.
    loads: bool,
    /// Whether it can go on with sessions without replaying them.
    resumes: bool,
    /// Whether it can delete sessions.
    deletes: bool,
    /// The requests whose responses are changed or stored, by their ids.
    pending: HashMap<String, Pending>,
    sessions: Sessions,
    /// The sessions that the agent replays: the client has seen everything.
    loading: HashSet<String>,
    turns: Turns<'a>,
    /// The sessions in which a person or a program asks the agent to stop.
    cancelled: UnboundedReceiver<String>,
    /// The number of own requests.
    requests: u64,
}

/// A request whose response is waited for.
enum Pending {
    Initialize {
        id: Value,
    },
    Begin {
        id: Value,
        origin: Origin,
    },
    /// The agent goes on with a session that the client loads or resumes.
    Load {
        load: Load,
        agent_session: String,
    },
    /// The agent begins a session in place of one that the client loads.
    NewForLoad {
        load: Load,
    },
    Delete {
        id: Value,
        chat_id: ChatId,
    },
    Prompt {
        id: Value,
        agent_session: String,
    },
}

impl Pending {
    /// Returns the id of the client's request.
    fn into_id(self) -> Value {
        match self {
            Self::Initialize { id }
            | Self::Begin { id, .. }
            | Self::Delete { id, .. }
            | Self::Prompt { id, .. } => id,
            Self::Load { load, .. } | Self::NewForLoad { load } => load.id,
        }
    }
}

/// A session that the client loads or resumes.
struct Load {
    id: Value,
    chat: Box<ChatSession>,
    params: Value,
}

impl<'a> Proxy<'a> {
    fn new(chats: &'a Chats, client: Peer<DuplexStream>, agent: Peer<DuplexStream>) -> Self {
        let (cancelled_to, cancelled) = unbounded_channel();
        Self {
            chats,
            client,
            agent,
            loads: false,
            resumes: false,
            deletes: false,
            pending: HashMap::new(),
            sessions: Sessions::default(),
            loading: HashSet::new(),
            turns: Turns::new(chats, cancelled_to),
            cancelled,
            requests: 0,
        }
    }

    /// Passes messages on until one of the two hangs up, or the process is told to stop.
    async fn pass_on(
        &mut self,
        from_client: &mut Split<BufReader<Stdin>>,
        from_agent: &mut Split<BufReader<ChildStdout>>,
    ) -> io::Result<Gone> {
        let mut stop = pin!(told_to_stop());
        loop {
            tokio::select! {
                () = &mut stop => return Ok(Gone::Client),
                (attempt, outcome) = self.turns.next() => self.take_stored(attempt, outcome).await?,
                Some(session) = self.cancelled.recv() => {
                    let params = json!({"sessionId": session});
                    let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params});
                    self.agent.send(&cancel).await?;
                }
                line = from_client.next_segment() => {
                    let Some(line) = line? else { return Ok(Gone::Client) };
                    self.take_from_client(&line).await?;
                }
                line = from_agent.next_segment() => {
                    let Some(line) = line? else { return Ok(Gone::Agent) };
                    self.take_from_agent(&line).await?;
                }
            }
        }
    }

    /// Answers a prompt whose answer is stored, or tries again.
    async fn take_stored(
        &mut self,
        mut attempt: Attempt,
        outcome: Result<(), StoreError>,
    ) -> io::Result<()> {
        let response = attempt.response.take();
        let Err(error) = outcome else {
            self.turns.give_free(&attempt.agent_session);
            return match response {
                Some(response) => self.client.forward(&response.line).await,
                None => Ok(()),
            };
        };
        let told = if error.is_unavailable() {
            tracing::warn!(%error, chat_id = %attempt.chat_id, "an answer is not stored yet");
            self.turns.retry(attempt);
            format!("the answer is kept, and stored when the store is back: {error}")
        } else {
            tracing::error!(%error, chat_id = %attempt.chat_id, "an answer is lost");
            self.turns.give_free(&attempt.agent_session);
            format!("the answer could not be stored: {error}")
        };
        match response {
            Some(response) => self.client.answer(&response.id, Err(RpcError::internal(told))).await,
            None => Ok(()),
        }
    }

    /// Stores what was said in a session before; refuses to go on if the store is away.
    async fn settle(&mut self, agent_session: &str) -> Result<(), RpcError> {
        loop {
            self.turns.end_unprompted(agent_session);
            if !self.turns.is_unstored(agent_session) {
                return Ok(());
            }
            let (attempt, outcome) = self.turns.next().await;
            let is_away = attempt.agent_session == agent_session
                && outcome.as_ref().is_err_and(StoreError::is_unavailable);
            let passed_on = self.take_stored(attempt, outcome).await;
            passed_on.map_err(|error| RpcError::internal(error.to_string()))?;
            if is_away {
                let detail = "what was said before is not stored yet: the store is away";
                return Err(RpcError::internal(detail));
            }
        }
    }

    /// Ends everything because the agent cannot be reached.
    async fn abandon(&mut self, reason: &str) {
        self.finish(|| Ending::Failed(reason.to_owned())).await;
        for (_, pending) in std::mem::take(&mut self.pending) {
            // The client may be gone, too.
            let refused = Err(RpcError::internal(reason));
            drop(self.client.answer(&pending.into_id(), refused).await);
        }
    }

    /// Stores what was said so far, if the store is there in time.
    async fn finish(&mut self, ending: impl Fn() -> Ending) {
        let deadline = Instant::now() + MAX_STORE_WAIT;
        loop {
            self.turns.end_all(&ending);
            if self.turns.is_empty() {
                return;
            }
            match timeout_at(deadline, self.turns.next()).await {
                // The client may be gone.
                Ok((attempt, outcome)) => drop(self.take_stored(attempt, outcome).await),
                Err(_) => break,
            }
        }
        for agent_session in self.turns.left() {
            let chat_id = self.sessions.chat(agent_session).map(ToString::to_string);
            tracing::error!(chat_id, "an answer is lost: the store is away");
        }
    }
}
