//! The change stream of the process: the server's notifications of changes by any process.
//!
//! After a failover or a lost cursor the driver resumes the stream once by its token. If that fails
//! for any reason, such as an expired token, a dropped collection or a long outage, a new stream
//! starts from the present. No change is lost by that, because subscribers catch up from the store
//! after every `Began`.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bson::{Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc};
use futures::stream::{self, Stream};
use mongodb::change_stream::ChangeStream;
use mongodb::change_stream::event::ResumeToken;
use mongodb::error::Error;
use mongodb::options::{ChangeStreamOptions, ClientOptions};
use mongodb::{Client, Database};
use records::{ChatId, Message};
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep};

use crate::mongo::MongoStore;
use crate::mongo::collection_names::{
    CHAT_PARTICIPANTS, CHAT_SESSIONS, PRESENCE, PROVIDER_CALLS, STREAM_GROUPS,
};
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{LIFECYCLE, StoredMessage};
use crate::mongo::engine::driver_error::DriverError;
use crate::mongo::engine::failure::code;
use crate::mongo::streams::{StoredGroup, stream_group_record};
use crate::store::{Change, ChatChange, Interest, StreamChange};

/// The timeout of server selection. After the clean shutdown of a primary the driver waits this
/// long before it reports an error.
const SELECTION_TIMEOUT: Duration = Duration::from_secs(2);

/// The initial and the largest pause before a change stream is opened again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// The pause if the server has no change streams, or the user may not open them.
const UNSUPPORTED_PAUSE: Duration = Duration::from_secs(30);

/// The server's codes for a change stream on a server without an operation log, and of a user without the right.
const NO_CHANGE_STREAMS: i32 = 40_573;
const UNAUTHORIZED: i32 = 13;

/// The fields other than the message counter whose change subscribers must see.
const WATCHED_FIELDS: [&str; 7] = [
    "revision",
    "status",
    "status_reason",
    "context_version",
    "artifact_version",
    "input_version",
    "session_version",
];

/// The fields that an update has changed.
const UPDATED_FIELDS: &str = "updateDescription.updatedFields";

/// The names of the fields that an update has removed.
const REMOVED_FIELDS: &str = "updateDescription.removedFields";

/// The field with a group of a stream.
const GROUP: &str = "fullDocument";

/// The field with the messages that were appended, and how the name of each begins.
const APPENDED: &str = "appended";
const TAIL_MESSAGE: &str = "messages.";

/// The most bytes of messages that are told with a change. Others are read.
pub(crate) const MAX_APPENDED_BYTES: usize = 8 << 10;

/// How long the server waits for an event before it answers with none. So long it may take until a chat is selected that was listed.
const AWAIT: Duration = Duration::from_millis(150);

/// The shortest time between two openings of a change stream for other chats.
const MIN_SELECTION_TIME: Duration = Duration::from_millis(100);

/// The operations that end a collection; earlier notifications are then void.
pub(crate) const COLLECTION_ENDINGS: [&str; 4] = ["drop", "rename", "dropDatabase", "invalidate"];

/// Opens change streams.
#[derive(Debug)]
pub(crate) struct ChangeStreams {
    options: ClientOptions,
    database_name: String,
    /// A separate client, created on first use, because it needs other timeouts and each stream
    /// occupies a connection.
    watched: OnceCell<Database>,
    are_supported: AtomicBool,
}

impl ChangeStreams {
    pub(crate) fn new(mut options: ClientOptions, database: &str) -> Self {
        options.server_selection_timeout = Some(SELECTION_TIMEOUT);
        // The pool metrics count only the connections for calls.
        options.cmap_event_handler = None;
        // A stream asks again and again, in no trace.
        if let Some(spans) = &mut options.tracing {
            spans.enabled = Some(false);
        }
        let (database_name, watched) = (database.to_owned(), OnceCell::new());
        Self { options, database_name, watched, are_supported: AtomicBool::new(true) }
    }

    pub(crate) fn are_supported(&self) -> bool {
        self.are_supported.load(Ordering::Relaxed)
    }

    /// Reads from a server's `hello` reply whether it has change streams: only members of a replica
    /// set and routers have them.
    pub(crate) fn record_server(&self, hello: &Document) {
        let is_router = hello.get_str("msg").is_ok_and(|msg| msg == "isdbgrid");
        self.are_supported.store(is_router || hello.contains_key("setName"), Ordering::Relaxed);
    }

    /// Notes that the user may not open change streams; the log says it once.
    pub(crate) fn record_unauthorized(&self) {
        if self.are_supported.swap(false, Ordering::Relaxed) {
            tracing::warn!(
                "the user of mongo.uri may not open change streams, so changes of other processes are noticed later; give it \
                 the actions changeStream and find, such as by the role readWrite"
            );
        }
    }

    pub(crate) async fn open(
        &self,
        pipeline: [Document; 2],
        options: ChangeStreamOptions,
    ) -> Result<ChangeStream<RawDocumentBuf>, Error> {
        let connect = async || {
            let client = Client::with_options(self.options.clone())?;
            Ok::<_, Error>(client.database(&self.database_name))
        };
        let watched = self.watched.get_or_try_init(connect).await?;
        Ok(watched.watch().pipeline(pipeline).with_options(options).await?.with_type())
    }
}

/// Returns the pipeline that selects the changes that subscribers of some chats need, or of all. What it leaves of them are ids,
/// counters, the groups of streams, and a few small messages that were appended to one of these chats.
fn pipeline(selected: Option<&HashSet<ChatId>>) -> [Document; 2] {
    let updated = |field: &str| format!("{UPDATED_FIELDS}.{field}");
    let is_there = |field: &str| doc! { updated(field): { "$exists": true } };
    let mut worth_telling: Vec<Document> =
        WATCHED_FIELDS.iter().map(|field| is_there(field)).collect();
    worth_telling.push(is_there("last_sequence"));
    // An active chat has no lifecycle: a message, or a turn without messages, has made an archived one active.
    worth_telling.push(doc! { REMOVED_FIELDS: LIFECYCLE });
    // The server may replace a small document as a whole, and then reports a replacement.
    worth_telling.push(doc! { "operationType": { "$in": ["replace", "delete"] } });
    let ids = selected.map(|chats| chats.iter().map(ChatId::as_str).collect::<Vec<_>>());
    // The server looks for the ids in the operation log itself, before it makes an event of an entry.
    let of = |collection: &str, key: &str, worth_telling: Document| {
        let mut conditions = vec![doc! { "ns.coll": collection }, worth_telling];
        conditions.extend(ids.as_ref().map(|ids| doc! { key: { "$in": ids } }));
        doc! { "$and": conditions }
    };
    let is_one_of = |operations: &[&str]| doc! { "operationType": { "$in": operations.to_vec() } };
    let (id, chat_of_id) = ("documentKey._id", "documentKey._id.chat_id");
    let told = vec![
        of(CHAT_SESSIONS, id, doc! { "$or": worth_telling }),
        // An update only renews an announcement, so it is not selected.
        of(PRESENCE, chat_of_id, is_one_of(&["insert", "delete"])),
        of(PROVIDER_CALLS, chat_of_id, is_one_of(&["insert", "delete"])),
        of(STREAM_GROUPS, chat_of_id, is_one_of(&["insert"])),
        of(CHAT_PARTICIPANTS, id, is_one_of(&["insert", "update", "replace", "delete"])),
        doc! { "$and": [{ "ns.coll": CHAT_SESSIONS }, is_one_of(&COLLECTION_ENDINGS)] },
        is_one_of(&["dropDatabase", "invalidate"]),
    ];
    let mut fields = doc! {
        "operationType": 1, "ns": 1, "documentKey._id": 1, updated("last_sequence"): 1,
    };
    // Only the presence of these fields is transferred, because a reason may be long.
    fields.extend(WATCHED_FIELDS.iter().map(|field| {
        let is_there = doc! { "$ne": [{ "$type": format!("${}", updated(field)) }, "missing"] };
        ((*field).to_owned(), Bson::Document(is_there))
    }));
    let removed = doc! { "$ifNull": [format!("${REMOVED_FIELDS}"), []] };
    fields.insert(LIFECYCLE, doc! { "$in": [LIFECYCLE, removed] });
    // A group of a stream is told with its chunks, so that it needs no read.
    let is_group = doc! { "$eq": ["$ns.coll", STREAM_GROUPS] };
    let group = doc! { "$cond": [is_group, "$fullDocument", "$$REMOVE"] };
    fields.insert(GROUP, group);
    if selected.is_some() {
        fields.insert(APPENDED, appended_messages());
    }
    [doc! { "$match": { "$or": told } }, doc! { "$project": fields }]
}

/// Returns the expression for the messages of an event, each with its place in the tail: none if the update is large, or
/// replaces the document.
fn appended_messages() -> Document {
    let fields = format!("${UPDATED_FIELDS}");
    let most = i64::try_from(MAX_APPENDED_BYTES).unwrap_or(i64::MAX);
    // Of anything but an update the size is null, which is less than any number.
    let size = doc! { "$ifNull": [{ "$bsonSize": &fields }, most + 1] };
    let is_message = doc! { "$eq": [{ "$indexOfCP": ["$$this.k", TAIL_MESSAGE] }, 0] };
    let messages =
        doc! { "$filter": { "input": { "$objectToArray": &fields }, "cond": is_message } };
    doc! { "$cond": [{ "$lte": [size, most] }, messages, "$$REMOVE"] }
}

/// Converts a notification of the server; returns `None` if it does not concern a chat.
fn change(event: &RawDocument) -> Option<Change> {
    if event.get_str("operationType").is_ok_and(|operation| COLLECTION_ENDINGS.contains(&operation))
    {
        return Some(Change::Lost);
    }
    let collection = event.get_document("ns").ok()?.get_str("coll").ok()?;
    if collection == STREAM_GROUPS {
        return event.get_document(GROUP).ok().and_then(stream_change);
    }
    let key = event.get_document("documentKey").ok()?;
    let chat_id = match collection {
        PRESENCE | PROVIDER_CALLS => key.get_document("_id").ok()?.get_str("chat_id").ok()?,
        _ => key.get_str("_id").ok()?,
    };
    let chat_id = ChatId::parse(chat_id).ok()?;
    match collection {
        PROVIDER_CALLS => return Some(Change::Usage(chat_id)),
        PRESENCE | CHAT_PARTICIPANTS => return Some(Change::Presence(chat_id)),
        _ => {}
    }
    let mut told = WATCHED_FIELDS.iter().chain([&LIFECYCLE]);
    let is_more = told.any(|field| event.get_bool(field).is_ok_and(|is_there| is_there));
    let counter = last_sequence(event);
    let appended = counter.and_then(|counter| appended(&chat_id, event, counter));
    let appended = appended.unwrap_or_default().into();
    let last_sequence = counter.filter(|_| !is_more);
    Some(Change::Chat(ChatChange { chat_id, last_sequence, appended }))
}

/// Returns the messages that an update has appended, after which the chat has this counter; `None` if they are not told.
fn appended(chat_id: &ChatId, event: &RawDocument, counter: u64) -> Option<Vec<Message>> {
    let mut stored = Vec::new();
    for message in event.get_array(APPENDED).ok()? {
        let message = message.ok()?.as_document()?;
        let place: u64 = message.get_str("k").ok()?.strip_prefix(TAIL_MESSAGE)?.parse().ok()?;
        stored.push((place, message.get_document("v").ok()?));
    }
    stored.sort_unstable_by_key(|(place, _)| *place);
    let first = counter.checked_sub(stored.len() as u64)?;
    messages_of(chat_id, first, stored.into_iter().map(|(_, message)| message))
}

/// Reads messages of the tail that follow one another; `None` if one of them cannot be read.
pub(crate) fn messages_of<'a>(
    chat_id: &ChatId,
    first_sequence: u64,
    stored: impl Iterator<Item = &'a RawDocument>,
) -> Option<Vec<Message>> {
    let read = |(sequence, raw)| {
        let fields = Fields::of_part(CHAT_SESSIONS, chat_id.as_str(), raw);
        StoredMessage::read(sequence, &fields).ok().map(|stored| stored.message)
    };
    (first_sequence..).zip(stored).map(read).collect()
}

fn stream_change(group: &RawDocument) -> Option<Change> {
    // A group that only newer releases can read is not for the listeners of this one.
    let StoredGroup { chat_id, stream_id, group } = stream_group_record(group).ok()?;
    let group = Arc::new(group);
    Some(Change::Stream(StreamChange { chat_id, stream_id, group }))
}

fn last_sequence(event: &RawDocument) -> Option<u64> {
    let updated =
        event.get_document("updateDescription").ok()?.get_document("updatedFields").ok()?;
    match updated.get("last_sequence").ok()?? {
        RawBsonRef::Int64(number) => number.try_into().ok(),
        RawBsonRef::Int32(number) => number.try_into().ok(),
        _ => None,
    }
}

/// Follows the change stream, and opens it again whenever it ends or the interest of the listener has changed.
pub(crate) struct Watcher {
    store: MongoStore,
    interest: Interest,
    stream: Option<Selected>,
    /// The chats that were added to the selection, and are not told yet.
    listed: Vec<ChatId>,
    pauses: Pauses,
}

/// A change stream of some chats, or of all.
struct Selected {
    stream: ChangeStream<RawDocumentBuf>,
    /// The chats that were listed when it was opened.
    chats: HashSet<ChatId>,
    /// Whether it reports the changes of all chats.
    is_of_all: bool,
    opened: Instant,
}

/// What comes next.
enum Next {
    Event(RawDocumentBuf),
    Ended(Option<Error>),
    Outgrown,
}

impl Watcher {
    pub(crate) fn new(store: MongoStore, interest: Interest) -> Self {
        Self { store, interest, stream: None, listed: Vec::new(), pauses: Pauses::default() }
    }

    pub(crate) fn changes(self) -> impl Stream<Item = Change> + Send {
        stream::unfold(self, async |mut watcher| Some((watcher.next().await, watcher)))
    }

    async fn next(&mut self) -> Change {
        loop {
            if let Some(chat_id) = self.listed.pop() {
                return Change::Listed(chat_id);
            }
            let Some(selected) = &mut self.stream else {
                self.interest.begins().await;
                match Selected::open(&self.store, &self.interest, None).await {
                    Ok(selected) => {
                        (self.stream, self.pauses) = (Some(selected), Pauses::default());
                        let streams = &self.store.inner.change_streams;
                        streams.are_supported.store(true, Ordering::Relaxed);
                        return Change::Began;
                    }
                    Err(error) => {
                        self.pauses.wait_after(&error, &self.store.inner.change_streams).await;
                    }
                }
                continue;
            };
            match selected.next(&self.interest).await {
                Next::Event(event) => {
                    let Some(change) = change(&event) else { continue };
                    if change == Change::Lost {
                        self.stream = None;
                    }
                    return change;
                }
                Next::Ended(error) => {
                    let error = error.map(DriverError::from).map(tracing::field::display);
                    tracing::warn!(error, "the change stream has ended; it is opened again");
                    self.stream = None;
                    return Change::Lost;
                }
                Next::Outgrown => {
                    if !self.select_again().await {
                        return Change::Lost;
                    }
                }
            }
        }
    }

    /// Goes on with a change stream of the chats that are listed now, without a gap. Returns `false` if there is none.
    async fn select_again(&mut self) -> bool {
        let Some(before) = self.stream.take() else { return false };
        let Some(token) = before.stream.resume_token() else { return false };
        match Selected::open(&self.store, &self.interest, Some(token)).await {
            Ok(selected) => {
                if !before.is_of_all {
                    self.listed = selected.chats.difference(&before.chats).cloned().collect();
                }
                self.stream = Some(selected);
                true
            }
            Err(error) => {
                tracing::debug!(%error, "the change stream could not be opened for other chats");
                false
            }
        }
    }
}

impl Selected {
    /// Opens a change stream of the chats that are listed now, at the present or after an event of another one.
    async fn open(
        store: &MongoStore,
        interest: &Interest,
        after: Option<ResumeToken>,
    ) -> Result<Self, Error> {
        let listed = interest.chats();
        let selected = listed.as_ref().filter(|chats| chats.len() <= Interest::MAX_SELECTED);
        let (pipeline, is_of_all) = (pipeline(selected), selected.is_none());
        let mut options = ChangeStreamOptions::default();
        options.resume_after = after;
        // Only a list may change while the server waits.
        options.max_await_time = listed.as_ref().map(|_| AWAIT);
        let stream = store.inner.change_streams.open(pipeline, options).await?;
        let chats = listed.unwrap_or_default();
        Ok(Self { stream, chats, is_of_all, opened: Instant::now() })
    }

    async fn next(&mut self, interest: &Interest) -> Next {
        while self.stream.is_alive() {
            let selected = (!self.is_of_all).then_some(&self.chats);
            // Many chats that are listed one after the other are selected together.
            if self.opened.elapsed() >= MIN_SELECTION_TIME && interest.outgrows(selected) {
                return Next::Outgrown;
            }
            match self.stream.next_if_any().await {
                Ok(None) => {}
                Ok(Some(event)) => return Next::Event(event),
                Err(error) => return Next::Ended(Some(error)),
            }
        }
        Next::Ended(None)
    }
}

/// The pauses between attempts to open a change stream.
pub(crate) struct Pauses {
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { next: PAUSES.0 }
    }
}

impl Pauses {
    /// Waits after a failed attempt.
    pub(crate) async fn wait_after(&mut self, error: &Error, streams: &ChangeStreams) {
        match code(error) {
            Some(NO_CHANGE_STREAMS) => streams.are_supported.store(false, Ordering::Relaxed),
            Some(UNAUTHORIZED) => streams.record_unauthorized(),
            _ => {
                tracing::debug!(%error, "the change stream could not be opened");
                sleep(self.next).await;
                self.next = (self.next * 2).min(PAUSES.1);
                return;
            }
        }
        sleep(UNSUPPORTED_PAUSE).await;
    }
}
