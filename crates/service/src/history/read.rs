use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_stream::try_stream;
use futures::TryStreamExt as _;
use futures::stream::{self, BoxStream, Stream, StreamExt as _};
use persistence::{Store, StoreError};
use records::{ChatId, Message, Scope};
use resume::dialect::{Dialect, Rendered};
use resume::replay::{Replay, ReplayScan};
use resume::{Dropped, Options, Repaired, UnsettledCall, window};
use serde_json::Value;
use tokio::time::timeout;

use super::HistoryError;

/// A chat of at most this size is read once, held in memory and rendered. A larger one is read twice, so that
/// memory does not grow with the chat.
const MAX_HELD_BYTES: usize = 1 << 20;

/// The chat to read, and the store to read it from.
#[derive(Debug, Clone)]
pub struct Source {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The scope of the caller.
    pub scope: Scope,
    /// The id of the chat.
    pub chat_id: ChatId,
    /// How long the store may take to return the next messages.
    pub read_timeout: Duration,
}

/// The dialect and the extent of a history.
#[derive(Debug, Clone)]
pub struct HistoryForm {
    /// The dialect of the messages.
    pub dialect: &'static dyn Dialect,
    /// Only this many of the newest messages.
    pub newest: Option<usize>,
    /// The options of the dialect.
    pub options: Options,
}

/// An item of a history; items are returned in the order of the variants.
#[derive(Debug, Clone, PartialEq)]
pub enum HistoryItem {
    /// A message in the dialect.
    Message(Value),
    /// A message that was dropped.
    Dropped(Dropped),
    /// A message that was repaired.
    Repaired(Repaired),
    /// The data besides messages. It is always the last item.
    Extras(HistoryExtras),
}

/// The data of a history besides its messages.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HistoryExtras {
    /// The history has the messages below this sequence, or those of them that were asked for. Events after it continue
    /// the history without a gap.
    pub last_sequence: u64,
    /// The original of each name that was replaced.
    pub names: BTreeMap<String, String>,
    /// The original of each call id that was replaced.
    pub ids: BTreeMap<String, String>,
    /// The system instructions, for dialects that keep them apart from the messages.
    pub system: Vec<Value>,
}

/// The stream of the items of a history.
pub type HistoryItems = BoxStream<'static, Result<HistoryItem, StoreError>>;

/// Reads a chat in a dialect.
///
/// Returns once everything is known that the first message depends on. For a dialect that looks ahead, and for
/// a window of the newest messages, that requires reading the whole chat; a chat that is too large to hold in
/// memory is then read a second time (see [`resume::replay`]). The stream reads while it is polled, and stops
/// when it is dropped.
///
/// Tool calls that must be rejected are an error: [`HistoryError::Unsettled`].
pub async fn read(source: Source, form: HistoryForm) -> Result<HistoryItems, HistoryError> {
    let scan = ReplayScan::new(form.dialect, form.newest, &form.options);
    if !scan.is_needed() {
        return Ok(replayed(source, scan.into_replay()).boxed());
    }
    Ok(match first_pass(&source, scan).await? {
        FirstPass::Short(messages) => {
            let last_sequence = messages.last().map_or(0, |last| last.sequence + 1);
            let rendered = rendered(messages, &form);
            refuse_unsettled(&rendered.rejected)?;
            stream::iter(items(rendered, last_sequence).map(Ok)).boxed()
        }
        FirstPass::Long(replay) => {
            refuse_unsettled(replay.rejected())?;
            replayed(source, *replay).boxed()
        }
    })
}

fn refuse_unsettled(rejected: &[UnsettledCall]) -> Result<(), HistoryError> {
    if rejected.is_empty() { Ok(()) } else { Err(HistoryError::Unsettled(rejected.to_vec())) }
}

/// The result of reading the chat once.
enum FirstPass {
    /// All messages.
    Short(Vec<Message>),
    /// What is needed to render the messages while they are read again.
    Long(Box<Replay>),
}

async fn first_pass(source: &Source, mut scan: ReplayScan) -> Result<FirstPass, StoreError> {
    let mut messages = pin!(source.messages());
    let mut held = Vec::new();
    let mut room = Some(MAX_HELD_BYTES);
    while let Some(message) = messages.try_next().await? {
        room = room.and_then(|room| room.checked_sub(size(&message)));
        held.push(message);
        if room.is_none() {
            held.drain(..).for_each(|message| scan.observe(message));
        }
    }
    Ok(if room.is_some() {
        FirstPass::Short(held)
    } else {
        FirstPass::Long(Box::new(scan.into_replay()))
    })
}

/// Returns the size of a message. A message that exceeds the current limits has no size, and counts as too
/// large to hold.
fn size(message: &Message) -> usize {
    message.body.check_stored().unwrap_or(usize::MAX)
}

fn rendered(messages: Vec<Message>, form: &HistoryForm) -> Rendered {
    let messages = match form.newest {
        Some(size) => window::newest(messages, size),
        None => messages,
    };
    form.dialect.render(messages, &form.options)
}

/// Renders a chat while it is read.
fn replayed(
    source: Source,
    mut replay: Replay,
) -> impl Stream<Item = Result<HistoryItem, StoreError>> + Send {
    try_stream! {
        let mut messages = pin!(source.messages());
        let mut last_sequence = 0;
        while !replay.is_complete() {
            let Some(message) = messages.try_next().await? else {
                break;
            };
            last_sequence = message.sequence + 1;
            for value in replay.push(message) {
                yield HistoryItem::Message(value);
            }
        }
        for item in items(replay.finish(), last_sequence) {
            yield item;
        }
    }
}

fn items(rendered: Rendered, last_sequence: u64) -> impl Iterator<Item = HistoryItem> {
    let messages = rendered.messages.into_iter().map(HistoryItem::Message);
    let dropped = rendered.dropped.into_iter().map(HistoryItem::Dropped);
    let repaired = rendered.repaired.into_iter().map(HistoryItem::Repaired);
    let Rendered { names, ids, system, .. } = rendered;
    messages.chain(dropped).chain(repaired).chain([HistoryItem::Extras(HistoryExtras {
        last_sequence,
        names,
        ids,
        system,
    })])
}

impl Source {
    /// Streams the messages of the chat, oldest first.
    fn messages(&self) -> impl Stream<Item = Result<Message, StoreError>> + Send + use<> {
        let source = self.clone();
        try_stream! {
            let mut history = source.store.history(&source.scope, &source.chat_id);
            while let Some(message) = source.in_time(history.try_next()).await? {
                yield message;
            }
        }
    }

    async fn in_time<T>(
        &self,
        reading: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        timeout(self.read_timeout, reading).await.unwrap_or_else(|elapsed| {
            let retry_after = Duration::from_secs(1);
            Err(StoreError::Unavailable { retry_after, source: elapsed.into() })
        })
    }
}
