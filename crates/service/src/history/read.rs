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

/// A chat of up to so many bytes is read once and rendered at once.
const HELD_BYTES: usize = 1 << 20;

/// Which chat is read, and from where.
#[derive(Debug, Clone)]
pub struct Source {
    /// Where it is kept.
    pub store: Arc<dyn Store>,
    /// Who reads it.
    pub scope: Scope,
    /// Its id.
    pub chat_id: ChatId,
    /// How long the next message may take to come.
    pub patience: Duration,
}

/// In which form, and how much.
#[derive(Debug, Clone)]
pub struct Form {
    /// The form of the messages.
    pub dialect: &'static dyn Dialect,
    /// Only the window of the newest so many.
    pub newest: Option<usize>,
    /// What the dialect may ask.
    pub options: Options,
}

/// A part of a history; they come in the order of the variants.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// A message in the form asked for.
    Message(Value),
    /// A message that was left out.
    Dropped(Dropped),
    /// A message that was changed.
    Repaired(Repaired),
    /// What stands beside the messages; comes last, and always.
    Beside(Beside),
}

/// What stands beside the messages of a history.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Beside {
    /// The original of each name that was changed.
    pub names: BTreeMap<String, String>,
    /// The original of each call id that was changed.
    pub ids: BTreeMap<String, String>,
    /// The instructions, where the form wants them apart.
    pub system: Vec<Value>,
}

/// The parts of a history.
pub type Parts = BoxStream<'static, Result<Part, StoreError>>;

/// Reads a chat in a form.
///
/// Returns when everything is known that has to be known before the first message. For a form that
/// looks ahead, and for a window, that is when the whole chat has been read; one that is too long to
/// be held is then read a second time: see [`resume::replay`]. The stream reads on as it is asked
/// to, and whoever drops it ends the reading.
///
/// Calls that are to be rejected are an error, [`HistoryError::Unsettled`].
pub async fn read(source: Source, form: Form) -> Result<Parts, HistoryError> {
    let scan = ReplayScan::new(form.dialect, form.newest, &form.options);
    if !scan.is_needed() {
        return Ok(replayed(source, scan.into_replay()).boxed());
    }
    Ok(match look_over(&source, scan).await? {
        Surveyed::Short(messages) => {
            let rendered = rendered(messages, &form);
            settled(&rendered.rejected)?;
            stream::iter(parts(rendered).map(Ok)).boxed()
        }
        Surveyed::Long(replay) => {
            settled(replay.rejected())?;
            replayed(source, *replay).boxed()
        }
    })
}

fn settled(rejected: &[UnsettledCall]) -> Result<(), HistoryError> {
    if rejected.is_empty() { Ok(()) } else { Err(HistoryError::Unsettled(rejected.to_vec())) }
}

/// What a first reading leaves in the hand.
enum Surveyed {
    /// All the messages.
    Short(Vec<Message>),
    /// What is needed to render them when they are read again.
    Long(Box<Replay>),
}

async fn look_over(source: &Source, mut scan: ReplayScan) -> Result<Surveyed, StoreError> {
    let mut messages = pin!(source.messages());
    let mut held = Vec::new();
    let mut room = Some(HELD_BYTES);
    while let Some(message) = messages.try_next().await? {
        room = room.and_then(|room| room.checked_sub(size(&message)));
        held.push(message);
        if room.is_none() {
            held.drain(..).for_each(|message| scan.observe(message));
        }
    }
    Ok(if room.is_some() {
        Surveyed::Short(held)
    } else {
        Surveyed::Long(Box::new(scan.into_replay()))
    })
}

/// Returns the size of a message; one that has none, because it could not be stored today, is taken
/// for too large to be held.
fn size(message: &Message) -> usize {
    message.body.check().unwrap_or(usize::MAX)
}

fn rendered(messages: Vec<Message>, form: &Form) -> Rendered {
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
) -> impl Stream<Item = Result<Part, StoreError>> + Send {
    try_stream! {
        let mut messages = pin!(source.messages());
        while !replay.is_complete() {
            let Some(message) = messages.try_next().await? else {
                break;
            };
            for value in replay.push(message) {
                yield Part::Message(value);
            }
        }
        for part in parts(replay.finish()) {
            yield part;
        }
    }
}

fn parts(rendered: Rendered) -> impl Iterator<Item = Part> {
    let messages = rendered.messages.into_iter().map(Part::Message);
    let dropped = rendered.dropped.into_iter().map(Part::Dropped);
    let repaired = rendered.repaired.into_iter().map(Part::Repaired);
    let Rendered { names, ids, system, .. } = rendered;
    messages.chain(dropped).chain(repaired).chain([Part::Beside(Beside { names, ids, system })])
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
        timeout(self.patience, reading).await.unwrap_or_else(|elapsed| {
            let retry_after = Duration::from_secs(1);
            Err(StoreError::Unavailable { retry_after, source: elapsed.into() })
        })
    }
}
