use std::sync::Arc;

use persistence::StoreError;
use records::StreamId;
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;

use super::event::{Delivery, Event};
use super::feed::Feed;
use super::position::Position;
use super::streams::{StreamPosition, events_of};
use crate::admission::{Reservation, SubjectMemory};

/// The memory that reading one page takes, in bytes.
const PAGE_BYTES: usize = 16 << 20;

/// The memory of an event while it is read from the store, or copied for its client, as a multiple of its size.
const COPIES: usize = 3;

/// Events up to this size, in bytes, are not counted.
const SMALL_BYTES: usize = 16 << 10;

/// Reads events from the store for one subscriber.
///
/// Each read waits for its turn among those of all subscribers, and for memory. It reads one page, so the
/// others take their turns in between, and nothing stays open for a slow client.
#[derive(Debug)]
pub(super) struct Reader {
    feed: Arc<Feed>,
    /// Bounds how many subscribers read at a time.
    permits: Arc<Semaphore>,
    memory: SubjectMemory,
}

/// The events of one read.
pub(super) struct Read {
    pub(super) deliveries: Vec<Delivery>,
    /// The memory of the events.
    pub(super) memory: Reservation,
    /// The rest of the scan, if the read was a part of one.
    pub(super) scan: Option<EditScan>,
    /// The stream that was read, and the number of its last group that was.
    pub(super) stream: Option<(StreamId, u64)>,
}

/// A scan of the messages of a chat for those that were edited.
#[derive(Debug, Clone)]
pub(super) struct EditScan {
    /// The first message that is not scanned yet.
    pub(super) next: u64,
    /// The end of the messages that the subscriber has.
    pub(super) end: u64,
    /// After the scan the subscriber knows all edits up to this revision.
    pub(super) revision: u64,
}

impl EditScan {
    pub(super) fn is_done(&self) -> bool {
        self.next >= self.end
    }
}

/// What to read.
#[derive(Debug)]
pub(super) enum Step {
    /// A page of the messages after a position.
    Messages(Position),
    /// Edited messages, after a position: pairs of a revision and a sequence.
    Edits(Position, Vec<(u64, u64)>),
    /// The next page of a scan.
    Scan(EditScan),
    /// The next page of a stream.
    Stream(StreamPosition),
}

impl Reader {
    pub(super) fn new(feed: Arc<Feed>, permits: Arc<Semaphore>, memory: SubjectMemory) -> Self {
        Self { feed, permits, memory }
    }

    /// Reads in a task of its own, so that a client which is served otherwise meanwhile neither repeats
    /// the read nor keeps others from reading.
    pub(super) fn start(&self, step: Step) -> AbortOnDropHandle<Result<Read, StoreError>> {
        let (feed, permits) = (Arc::clone(&self.feed), Arc::clone(&self.permits));
        let memory = self.memory.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            let mut memory = memory.reserve_patiently(PAGE_BYTES).await;
            let ReadStep { deliveries, scan, stream } = {
                let _permit = permits.acquire().await;
                read(&feed, step).await?
            };
            let bytes = || deliveries.iter().map(|delivery| delivery.event.bytes());
            memory.shrink_to(bytes().sum::<usize>() + COPIES * bytes().max().unwrap_or(0));
            Ok(Read { deliveries, memory, scan, stream })
        }))
    }

    /// Reserves the memory in which a large event of the window is copied for its client.
    pub(super) async fn reserve_copies(&self, delivery: &Delivery) -> Option<Reservation> {
        let bytes = delivery.event.bytes();
        if bytes <= SMALL_BYTES {
            return None;
        }
        Some(self.memory.reserve_patiently(COPIES * bytes).await)
    }
}

/// What a step has read.
#[derive(Default)]
struct ReadStep {
    deliveries: Vec<Delivery>,
    scan: Option<EditScan>,
    stream: Option<(StreamId, u64)>,
}

async fn read(feed: &Feed, step: Step) -> Result<ReadStep, StoreError> {
    let mut read = ReadStep::default();
    match step {
        Step::Messages(at) => read.deliveries = read_messages(feed, at).await?,
        Step::Edits(at, edits) => read.deliveries = read_edits(feed, at, edits).await?,
        Step::Scan(scan) => {
            let (deliveries, scan) = read_scanned(feed, scan).await?;
            (read.deliveries, read.scan) = (deliveries, Some(scan));
        }
        Step::Stream(at) => {
            (read.deliveries, read.stream) = read_stream(feed, at).await?;
        }
    }
    Ok(read)
}

/// Reads a page of a stream. Returns its events, and the number of the last group that was read; none if the store does not show
/// it yet.
async fn read_stream(
    feed: &Feed,
    at: StreamPosition,
) -> Result<(Vec<Delivery>, Option<(StreamId, u64)>), StoreError> {
    let StreamPosition { stream_id, after, next } = at;
    let mut groups = match feed.read_groups(&stream_id, after).await {
        Ok(groups) => groups,
        // It was removed, so nothing more will come.
        Err(StoreError::StreamNotFound(_)) => return Ok((Vec::new(), Some((stream_id, u64::MAX)))),
        Err(error) => return Err(error),
    };
    // The end of a stream comes after the messages that it became.
    groups.pop_if(|last| last.mark.last_sequence.is_some_and(|sequence| next < sequence));
    let (Some(last), Some(stream)) = (groups.last(), feed.known_stream(&stream_id)) else {
        return Ok((Vec::new(), None));
    };
    let events = events_of(&stream, &groups).into_iter();
    let deliveries = events.map(|event| Delivery { event, position: None });
    Ok((deliveries.collect(), Some((stream_id, last.mark.number))))
}

async fn read_messages(feed: &Feed, at: Position) -> Result<Vec<Delivery>, StoreError> {
    let messages = feed.read_page(at.next).await?.into_iter();
    let deliveries = messages.map(|message| Delivery {
        position: Some(Position { next: message.sequence + 1, ..at }),
        event: Event::Message(message.into()),
    });
    Ok(deliveries.collect())
}

async fn read_edits(
    feed: &Feed,
    at: Position,
    edits: Vec<(u64, u64)>,
) -> Result<Vec<Delivery>, StoreError> {
    let mut deliveries = Vec::new();
    for (revision, sequence) in edits {
        let event = Event::Edit(feed.read_message(sequence).await?.into());
        deliveries.push(Delivery { event, position: Some(Position { revision, ..at }) });
    }
    Ok(deliveries)
}

async fn read_scanned(
    feed: &Feed,
    scan: EditScan,
) -> Result<(Vec<Delivery>, EditScan), StoreError> {
    let mut messages = feed.read_page(scan.next).await?;
    messages.retain(|message| message.sequence < scan.end);
    // A page without messages is the end of what the store shows.
    let next = messages.last().map_or(scan.end, |last| last.sequence + 1);
    messages.retain(|message| message.edited_at.is_some() || message.deleted_at.is_some());
    let messages = messages.into_iter();
    // No position: until the scan is over, a client that reconnects must scan again.
    let deliveries =
        messages.map(|message| Delivery { event: Event::Edit(message.into()), position: None });
    Ok((deliveries.collect(), EditScan { next, ..scan }))
}
