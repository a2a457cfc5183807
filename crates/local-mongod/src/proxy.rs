//! A TCP proxy in front of a member, for faults that no fail point makes.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Stands between a client and one member, and loses the replies it is told to.
///
/// The request reaches the server and is carried out; then the connection is closed instead of
/// answered. Nothing listens any more once this is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    losses: Arc<Mutex<Losses>>,
    listening: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Losses {
    command: Vec<u8>,
    wanted: usize,
    done: usize,
}

impl Proxy {
    /// Starts one in front of the member that listens on a port of this machine.
    pub async fn start(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let losses = Arc::<Mutex<Losses>>::default();
        let shared = Arc::clone(&losses);
        let listening = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(join(client, port, Arc::clone(&shared)));
            }
        });
        Ok(Self { address, losses, listening })
    }

    /// Connects through it, and to nothing else of the replica set.
    pub fn uri(&self) -> String {
        format!("mongodb://{}/?directConnection=true", self.address)
    }

    /// Loses the replies to the next so many commands of a name, such as `findAndModify`.
    pub fn lose_replies(&self, command: &str, times: usize) {
        let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        // In a request the name of the command is the key of its first element.
        losses.command = [command.as_bytes(), b"\0"].concat();
        losses.wanted = times;
        losses.done = 0;
    }

    /// Returns how many replies were lost since it was told to.
    pub fn lost(&self) -> usize {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner).done
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Whether the reply to a request is to be lost.
fn is_lost(losses: &Mutex<Losses>, request: &[u8]) -> bool {
    let mut losses = losses.lock().unwrap_or_else(PoisonError::into_inner);
    let name = &losses.command;
    let is_named = !name.is_empty() && request.windows(name.len()).any(|window| window == name);
    if losses.wanted == 0 || !is_named {
        return false;
    }
    losses.wanted -= 1;
    losses.done += 1;
    true
}

async fn join(client: TcpStream, port: u16, losses: Arc<Mutex<Losses>>) -> io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", port)).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let (cut, is_cut) = oneshot::channel();
    tokio::select! {
        sent = requests(from_client, to_server, &losses, cut) => sent,
        answered = replies(from_server, to_client, is_cut) => answered,
    }
}

/// Hands on requests, and says which one must not be answered.
async fn requests(
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    losses: &Mutex<Losses>,
    cut: oneshot::Sender<()>,
) -> io::Result<()> {
    loop {
        let request = frame(&mut client).await?;
        if is_lost(losses, &request) {
            let _ = cut.send(());
            server.write_all(&request).await?;
            // The connection lives on until the reply is there: the server is done by then.
            return std::future::pending().await;
        }
        server.write_all(&request).await?;
    }
}

/// Hands on replies, until one is to be lost.
async fn replies(
    mut server: OwnedReadHalf,
    mut client: OwnedWriteHalf,
    mut is_cut: oneshot::Receiver<()>,
) -> io::Result<()> {
    loop {
        let reply = frame(&mut server).await?;
        if is_cut.try_recv().is_ok() {
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
