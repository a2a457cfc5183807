//! Between a client and another agent: passes their messages on, stores what is said, and replays it.

mod from_agent;
mod from_client;
mod process;

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::time::Duration;

use anyhow::bail;
use records::{ChatId, ChatSession, TurnId};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWrite, BufReader, DuplexStream, Split, Stdin};
use tokio::process::{Child, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::chats::{Chats, Ending};
use super::rpc::{Peer, RpcError};
use super::updates::Updates;
use process::AgentProcess;

/// How long an agent may take to end after its client has hung up.
const GRACE: Duration = Duration::from_secs(5);

/// How many bytes wait for a side that does not read, until the other side has to wait as well.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// Starts an agent, and serves a client until one of the two hangs up.
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
        Ok(Gone::Client) => proxy.interrupt().await,
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

impl Pending {
    /// Returns the id of the client's request.
    fn into_id(self) -> Value {
        match self {
            Self::Initialize { id } | Self::New { id, .. } | Self::Prompt { id, .. } => id,
            Self::Load { load, .. } | Self::NewForLoad { load } => load.id,
        }
    }
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
    id: TurnId,
    updates: Updates,
}

impl<'a> Proxy<'a> {
    fn new(chats: &'a Chats, client: Peer<DuplexStream>, agent: Peer<DuplexStream>) -> Self {
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

    /// Passes messages on until one of the two hangs up.
    async fn pass_on(
        &mut self,
        from_client: &mut Split<BufReader<Stdin>>,
        from_agent: &mut Split<BufReader<ChildStdout>>,
    ) -> io::Result<Gone> {
        loop {
            tokio::select! {
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

    /// Stores what was answered to the prompt of a session.
    async fn end(&mut self, agent_session: &str, ending: Ending) -> Result<(), RpcError> {
        let Some(turn) = self.turns.remove(agent_session) else { return Ok(()) };
        let Turn { chat_id, id, updates } = turn;
        self.chats.end_turn(&chat_id, id, updates, ending).await
    }

    /// Ends everything because the agent cannot be reached.
    async fn abandon(&mut self, reason: &str) {
        let sessions: Vec<_> = self.turns.keys().cloned().collect();
        for session in sessions {
            let ended = self.end(&session, Ending::Failed(reason.to_owned())).await;
            drop(ended.inspect_err(report_lost));
        }
        for (_, pending) in std::mem::take(&mut self.pending) {
            // The client may be gone, too.
            let refused = Err(RpcError::internal(reason));
            drop(self.client.answer(&pending.into_id(), refused).await);
        }
    }

    /// Stores what was said so far, because the client has gone.
    async fn interrupt(&mut self) {
        let sessions: Vec<_> = self.turns.keys().cloned().collect();
        for session in sessions {
            let ended = self.end(&session, Ending::Interrupted).await;
            drop(ended.inspect_err(report_lost));
        }
    }
}

fn report_lost(error: &RpcError) {
    tracing::error!(error = ?error, "what the agent said could not be stored");
}
