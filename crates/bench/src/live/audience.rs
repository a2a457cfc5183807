use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::http::Listener;
use crate::ours::{APP, Chat};

/// Subscribers, each of one of several chats.
#[derive(Debug)]
pub(crate) struct Audience {
    size: usize,
    heard: Mutex<UnboundedReceiver<Result<Heard>>>,
    /// Stops the subscribers when it is dropped.
    _listening: JoinSet<()>,
}

/// A message that one of them received.
#[derive(Debug)]
pub(super) struct Heard {
    /// The index of the chat in the list.
    pub(super) chat: usize,
    pub(super) at: Instant,
}

/// Subscribers that join at the same time.
const JOINING: usize = 64;

/// A message that takes longer counts as lost.
const MAX_DELIVERY: Duration = Duration::from_mins(1);

impl Audience {
    /// Starts the given number of subscribers for each chat; returns when all have caught up.
    pub(crate) async fn gather(
        address: SocketAddr,
        chats: &[Chat],
        listeners: usize,
    ) -> Result<Self> {
        let seats = (0..chats.len()).flat_map(|chat| (0..listeners).map(move |_| chat));
        let joining = seats.map(async |chat| {
            let mut listener = Listener::open(address, &events_path(&chats[chat])).await?;
            listener.catch_up().await?;
            anyhow::Ok((chat, listener))
        });
        let joined: Vec<_> = stream::iter(joining)
            .buffer_unordered(JOINING)
            .try_collect()
            .await
            .context("not all could join; each takes two open files, see `ulimit -n`")?;
        let size = joined.len();
        let (telling, heard) = unbounded_channel();
        let mut listening = JoinSet::new();
        for (chat, listener) in joined {
            listening.spawn(listen(chat, listener, telling.clone()));
        }
        Ok(Self { size, heard: Mutex::new(heard), _listening: listening })
    }

    /// Waits until every subscriber has received one more message.
    pub(super) async fn hear(&self) -> Result<Vec<Heard>> {
        let mut hearing = self.heard.lock().await;
        let mut heard = Vec::with_capacity(self.size);
        for _ in 0..self.size {
            let next = timeout(MAX_DELIVERY, hearing.recv()).await.context("a message is lost")?;
            heard.push(next.context("there is no subscriber")??);
        }
        ensure!(hearing.is_empty(), "there is more than was written");
        Ok(heard)
    }
}

async fn listen(chat: usize, mut listener: Listener, telling: UnboundedSender<Result<Heard>>) {
    loop {
        let told = listener.next().await.map(|_| Heard { chat, at: Instant::now() });
        let is_over = told.is_err();
        if telling.send(told).is_err() || is_over {
            return;
        }
    }
}

/// The path of the events of a chat.
pub(crate) fn events_path(chat: &Chat) -> String {
    format!("/api/chats/{APP}/{}/events", chat.id)
}
