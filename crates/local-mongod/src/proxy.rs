//! A TCP proxy in front of a member, for faults that no fail point can cause.

mod delay;
mod silence;

pub use silence::Source;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use self::delay::Delayed;
use self::silence::{Line, Silence};

/// A proxy between a client and one member, which drops selected replies, delays selected requests and can
/// go silent.
///
/// When a reply is dropped, its request reaches the server and is executed; then the connection is closed
/// instead of answered. Dropping this value stops the proxy.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    losses: Arc<Mutex<Losses>>,
    delayed: Arc<Delayed>,
    silence: Arc<Silence>,
    listening: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Losses {
    command: Vec<u8>,
    wanted: usize,
    done: usize,
    cut: Cut,
}

/// How much of a reply is passed on, and how its connection then ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cut {
    /// The number of bytes that are passed on.
    pub after_bytes: usize,
    /// The connection is reset instead of closed.
    pub is_reset: bool,
}

impl Proxy {
    /// Starts a proxy in front of the member on a port of this machine.
    pub async fn start(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let losses = Arc::<Mutex<Losses>>::default();
        let delayed = Arc::<Delayed>::default();
        let silence = Arc::<Silence>::default();
        let shared = (Arc::clone(&losses), Arc::clone(&delayed), Arc::clone(&silence));
        let listening = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (losses, delayed) = (Arc::clone(&shared.0), Arc::clone(&shared.1));
                tokio::spawn(join(client, port, losses, delayed, Line::of(&shared.2)));
            }
        });
        Ok(Self { address, losses, delayed, silence, listening })
    }

    /// The address of the proxy, `127.0.0.1:PORT`.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// A URI that connects through the proxy to its member only.
    pub fn uri(&self) -> String {
        format!("mongodb://{}/?directConnection=true", self.address)
    }

    /// Drops the replies to the next `times` commands of a name, such as `findAndModify`.
    pub fn lose_replies(&self, command: &str, times: usize) {
        self.cut_replies(command, times, Cut::default());
    }

    /// Cuts the replies to the next `times` commands of a name after their first bytes.
    pub fn cut_replies(&self, command: &str, times: usize, cut: Cut) {
        let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        losses.command = command_key(command);
        losses.wanted = times;
        losses.done = 0;
        losses.cut = cut;
    }

    /// Delays the next `times` commands of a name, like packets that a network delivers late. Their connections
    /// are closed at once. [`deliver_delayed`](Self::deliver_delayed) sends them to the server.
    pub fn delay_requests(&self, command: &str, times: usize) {
        self.delayed.begin(command, times);
    }

    /// Sends the delayed requests to the server. Returns how many of them it has executed.
    pub async fn deliver_delayed(&self) -> usize {
        self.delayed.deliver().await
    }

    /// Withholds all data from and to a source. The connections stay open.
    pub fn silence(&self, source: Source) {
        self.silence.begin(source);
    }

    /// Ends the silence: passes on the withheld data, and then new data. Returns how often data was withheld.
    pub fn speak(&self) -> usize {
        self.silence.end()
    }

    /// Returns the number of dropped replies since the last instruction.
    pub fn lost(&self) -> usize {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner).done
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Returns how to drop the reply to a request; `None` if it must not be dropped.
fn loss(losses: &Mutex<Losses>, request: &[u8]) -> Option<Cut> {
    let mut losses = losses.lock().unwrap_or_else(PoisonError::into_inner);
    if losses.wanted == 0 || !has_command(request, &losses.command) {
        return None;
    }
    losses.wanted -= 1;
    losses.done += 1;
    Some(losses.cut)
}

/// Returns the bytes that identify a request with a command: the key of its first element.
fn command_key(command: &str) -> Vec<u8> {
    [command.as_bytes(), b"\0"].concat()
}

fn has_command(request: &[u8], key: &[u8]) -> bool {
    !key.is_empty() && request.windows(key.len()).any(|window| window == key)
}

/// Connects a client to the server and passes data between them. A request that is to be delayed ends the client's
/// connection, and is sent later.
async fn join(
    client: TcpStream,
    port: u16,
    losses: Arc<Mutex<Losses>>,
    delayed: Arc<Delayed>,
    line: Line,
) -> io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", port)).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let (cut, is_cut) = oneshot::channel();
    // The halves of the client's connection belong to the two futures, so it closes when one of them ends.
    let request = tokio::select! {
        sent = requests(from_client, &mut to_server, &losses, &delayed, &line, cut) => sent?,
        answered = replies(&mut from_server, to_client, &line, is_cut) => return answered,
    };
    let executed = delayed.wait().await;
    to_server.write_all(&request).await?;
    frame(&mut from_server).await?;
    let _ = executed.send(());
    Ok(())
}

/// Passes requests on to the server. Reports a request whose reply is to be dropped, and returns a request that
/// is to be delayed.
async fn requests(
    mut client: OwnedReadHalf,
    server: &mut OwnedWriteHalf,
    losses: &Mutex<Losses>,
    delayed: &Delayed,
    line: &Line,
    cut: oneshot::Sender<Cut>,
) -> io::Result<Vec<u8>> {
    loop {
        let request = frame(&mut client).await?;
        line.note(&request);
        line.is_open().await;
        if delayed.takes(&request) {
            return Ok(request);
        }
        if let Some(how) = loss(losses, &request) {
            let _ = cut.send(how);
            server.write_all(&request).await?;
            // Keep the connection until the reply arrives: the server has finished by then.
            return std::future::pending().await;
        }
        server.write_all(&request).await?;
    }
}

/// Passes replies on to the client until one is to be dropped.
async fn replies(
    server: &mut OwnedReadHalf,
    mut client: OwnedWriteHalf,
    line: &Line,
    mut is_cut: oneshot::Receiver<Cut>,
) -> io::Result<()> {
    loop {
        let reply = frame(server).await?;
        line.is_open().await;
        if let Ok(cut) = is_cut.try_recv() {
            client.write_all(&reply[..reply.len().min(cut.after_bytes)]).await?;
            if cut.is_reset {
                client.as_ref().set_zero_linger()?;
                // Dropping the half would shut the connection down first, so it would be closed, not reset.
                client.forget();
            }
            return Ok(());
        }
        client.write_all(&reply).await?;
    }
}

/// Reads one message of the wire protocol, which begins with its own length.
async fn frame(stream: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    const HEADER: usize = 4;
    let mut frame = vec![0; HEADER];
    stream.read_exact(&mut frame).await?;
    let length = i32::from_le_bytes([frame[0], frame[1], frame[2], frame[3]]);
    let length = usize::try_from(length).unwrap_or_default().max(HEADER);
    frame.resize(length, 0);
    stream.read_exact(&mut frame[HEADER..]).await?;
    Ok(frame)
}
