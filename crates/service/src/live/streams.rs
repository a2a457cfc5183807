//! The streams of one live chat: what agents are producing at the moment.

use std::collections::{BTreeMap, HashMap, VecDeque};

use persistence::StreamChange;
use records::{Stream, StreamEvent, StreamFormat, StreamGroup, StreamId, StreamState};
use serde_json::Value;

use super::event::{Event, StreamChunkEvent, StreamStateEvent};

/// The newest groups of the streams of a chat, shared by all of its subscribers, like the messages of a
/// [`Window`](super::window::Window).
#[derive(Debug, Default)]
pub(super) struct LiveStreams(BTreeMap<StreamId, LiveStream>);

#[derive(Debug)]
struct LiveStream {
    /// The stream as far as the groups below reflect it.
    stream: Stream,
    /// The newest groups, without gaps, up to the mark of `stream`.
    groups: VecDeque<HeldGroup>,
    bytes: usize,
    /// Whether its agent is silent for too long.
    is_stalled: bool,
}

#[derive(Debug)]
struct HeldGroup {
    number: u64,
    /// None if subscribers need not know of it.
    event: Option<Event>,
}

/// What a group brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    /// It is held now.
    Added,
    /// It was known.
    Known,
    /// Something before it is not known: the streams must be read.
    Gap,
}

/// What a subscriber was sent of the streams of its chat.
#[derive(Debug, Default)]
pub(super) struct SentStreams(HashMap<StreamId, Sent>);

#[derive(Debug, Clone, Copy)]
struct Sent {
    number: u64,
    is_stalled: bool,
}

/// What a subscriber has to do next for the streams of its chat.
#[derive(Debug)]
pub(super) enum StreamStep {
    /// Deliver these events.
    Deliver(Vec<Event>),
    /// Read the groups of a stream after a number: they are no longer held.
    Read(StreamPosition),
    /// Wait for a change.
    Wait,
}

/// A position in a stream.
#[derive(Debug, Clone)]
pub(super) struct StreamPosition {
    pub(super) stream_id: StreamId,
    /// The number of the last group that the subscriber has.
    pub(super) after: u64,
    /// The next message of the subscriber.
    pub(super) next: u64,
}

impl LiveStreams {
    /// The most bytes of groups held of a stream.
    const MAX_BYTES: usize = 256 << 10;
    /// The most ended streams held.
    const MAX_ENDED: usize = 16;
    /// The most groups delivered in one step.
    const MAX_DELIVERIES: usize = 64;

    /// Takes a group that was written.
    pub(super) fn push(&mut self, change: &StreamChange) -> Pushed {
        let Some(live) = self.0.get_mut(&change.stream_id) else { return Pushed::Gap };
        live.push(&change.group)
    }

    /// Takes the streams that were read. Returns the streams that lack groups, each with the number of its last known group.
    pub(super) fn refresh(
        &mut self,
        read: Vec<Stream>,
        is_stalled: impl Fn(&Stream) -> bool,
    ) -> Vec<(StreamId, u64)> {
        let mut missing = Vec::new();
        for stream in read {
            let stalled = is_stalled(&stream);
            match self.0.get_mut(&stream.stream_id) {
                Some(live) => {
                    if live.stream.mark.number < stream.mark.number {
                        missing.push((stream.stream_id, live.stream.mark.number));
                    } else {
                        live.is_stalled = stalled;
                    }
                }
                None if stream.mark.state == StreamState::Running => {
                    let live = LiveStream {
                        stream: stream.clone(),
                        groups: VecDeque::new(),
                        bytes: 0,
                        is_stalled: stalled,
                    };
                    self.0.insert(stream.stream_id, live);
                }
                // It has ended before this chat was live.
                None => {}
            }
        }
        self.forget_ended();
        missing
    }

    /// Returns a stream as far as it is known.
    pub(super) fn get(&self, stream_id: &StreamId) -> Option<&Stream> {
        self.0.get(stream_id).map(|live| &live.stream)
    }

    /// Returns whether any stream is running.
    pub(super) fn is_any_running(&self) -> bool {
        self.0.values().any(LiveStream::is_running)
    }

    fn forget_ended(&mut self) {
        let mut ended: Vec<_> =
            self.0.values().filter(|live| !live.is_running()).map(LiveStream::ended_at).collect();
        ended.sort_unstable();
        if let Some(at) = ended.len().checked_sub(Self::MAX_ENDED + 1) {
            let last = ended[at];
            self.0.retain(|_, live| live.is_running() || live.ended_at() > last);
        }
    }

    /// Decides what a subscriber with all messages before `next` does next.
    pub(super) fn next_step(&self, sent: &mut SentStreams, next: u64) -> StreamStep {
        sent.0.retain(|stream_id, _| self.0.contains_key(stream_id));
        for (stream_id, live) in &self.0 {
            let Some(known) = sent.0.get_mut(stream_id) else {
                if live.is_running() {
                    sent.0.insert(stream_id.clone(), Sent { number: 0, is_stalled: false });
                    return StreamStep::Deliver(vec![live.beginning()]);
                }
                continue;
            };
            if known.number < live.stream.mark.number {
                let first = live.groups.front().map_or(u64::MAX, |group| group.number);
                if known.number + 1 < first {
                    return StreamStep::Read(StreamPosition {
                        stream_id: stream_id.clone(),
                        after: known.number,
                        next,
                    });
                }
                let events = live.events_after(known, next);
                if !events.is_empty() {
                    return StreamStep::Deliver(events);
                }
            } else if live.is_stalled && !known.is_stalled {
                known.is_stalled = true;
                let stalled = Event::StreamStalled(StreamStateEvent::new(live.stream.clone()));
                return StreamStep::Deliver(vec![stalled]);
            }
        }
        StreamStep::Wait
    }
}

impl SentStreams {
    /// Notes that the groups of a stream up to a number were read for the subscriber.
    pub(super) fn note_read(&mut self, stream_id: &StreamId, number: u64) {
        if let Some(sent) = self.0.get_mut(stream_id) {
            *sent = Sent { number: number.max(sent.number), is_stalled: false };
        }
    }
}

impl LiveStream {
    fn is_running(&self) -> bool {
        self.stream.mark.state == StreamState::Running
    }

    fn ended_at(&self) -> chrono::DateTime<chrono::Utc> {
        self.stream.mark.written_at
    }

    fn push(&mut self, group: &StreamGroup) -> Pushed {
        let number = group.mark.number;
        if number <= self.stream.mark.number {
            return Pushed::Known;
        }
        if number > self.stream.mark.number + 1 {
            return Pushed::Gap;
        }
        self.stream.mark = group.mark.clone();
        // A request to cancel is no sign of the agent.
        self.is_stalled &= group.event == StreamEvent::CancelRequested;
        let event = group_event(&self.stream, group);
        self.bytes += event.as_ref().map_or(0, Event::bytes);
        self.groups.push_back(HeldGroup { number, event });
        while self.bytes > LiveStreams::MAX_BYTES && self.groups.len() > 1 {
            let oldest = self.groups.pop_front().and_then(|group| group.event);
            self.bytes -= oldest.as_ref().map_or(0, Event::bytes);
        }
        Pushed::Added
    }

    /// Returns the event with which a subscriber begins: nothing of the stream is known.
    fn beginning(&self) -> Event {
        let mut stream = self.stream.clone();
        let mark = &mut stream.mark;
        (mark.number, mark.next, mark.bytes, mark.attempt) = (0, 0, 0, 1);
        Event::StreamStarted(StreamStateEvent::new(stream))
    }

    /// Returns the events after what a subscriber was sent. The end of a stream comes after the messages that it became.
    fn events_after(&self, sent: &mut Sent, next: u64) -> Vec<Event> {
        let is_due = |group: &&HeldGroup| {
            let ends = group.number == self.stream.mark.number && !self.is_running();
            !ends || self.stream.mark.last_sequence.is_none_or(|last| last <= next)
        };
        let (after, mut events) = (sent.number, Vec::new());
        let newer = self.groups.iter().filter(|group| group.number > after);
        for group in newer.take_while(is_due).take(LiveStreams::MAX_DELIVERIES) {
            *sent = Sent { number: group.number, is_stalled: false };
            events.extend(group.event.clone());
        }
        events
    }
}

/// Returns the event of a group; `None` if subscribers need not know of it.
fn group_event(stream: &Stream, group: &StreamGroup) -> Option<Event> {
    let state = || StreamStateEvent::new(Stream { mark: group.mark.clone(), ..stream.clone() });
    match &group.event {
        StreamEvent::Chunks(chunks) if chunks.is_empty() => None,
        StreamEvent::Chunks(chunks) => {
            let range = (group.from(), group.mark.next);
            let attempt = group.mark.attempt;
            let chunks = StreamChunkEvent::new(&stream.stream_id, attempt, range, chunks);
            Some(Event::StreamChunk(chunks))
        }
        StreamEvent::Started | StreamEvent::Continued | StreamEvent::Restarted => {
            Some(Event::StreamStarted(state()))
        }
        StreamEvent::CancelRequested => None,
        StreamEvent::Ended => Some(Event::StreamFinished(state())),
    }
}

/// Returns the events of groups that were read, with all chunks that follow one another in one event, and the deltas of one text
/// in one chunk.
pub(super) fn events_of(stream: &Stream, groups: &[StreamGroup]) -> Vec<Event> {
    let has_chunks = |group: &StreamGroup| matches!(group.event, StreamEvent::Chunks(_));
    let mut events = Vec::new();
    for run in groups.chunk_by(|one, next| has_chunks(one) && has_chunks(next)) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        if !has_chunks(last) {
            events.extend(group_event(stream, last));
            continue;
        }
        let chunks: Vec<String> = run.iter().flat_map(StreamGroup::chunks).cloned().collect();
        if chunks.is_empty() {
            continue;
        }
        let chunks = aggregated(stream.header.format, chunks);
        let (attempt, range) = (last.mark.attempt, (first.from(), last.mark.next));
        let chunks = StreamChunkEvent::new(&stream.stream_id, attempt, range, &chunks);
        events.push(Event::StreamChunk(chunks));
    }
    events
}

/// The chunks of the AI SDK that continue a text, with the names of their id and of their text.
const DELTAS: [(&str, &str, &str); 3] = [
    ("text-delta", "id", "delta"),
    ("reasoning-delta", "id", "delta"),
    ("tool-input-delta", "toolCallId", "inputTextDelta"),
];

/// Joins neighbouring chunks that continue the same text.
fn aggregated(format: StreamFormat, chunks: Vec<String>) -> Vec<String> {
    let mut joined: Vec<Value> = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        // They were written as JSON.
        let Ok(chunk) = serde_json::from_str::<Value>(&chunk) else { continue };
        let is_joined = joined.last_mut().is_some_and(|last| match format {
            StreamFormat::Text => join_texts(last, &chunk),
            StreamFormat::UiMessage => join_deltas(last, &chunk),
            StreamFormat::Acp => false,
        });
        if !is_joined {
            joined.push(chunk);
        }
    }
    joined.iter().map(Value::to_string).collect()
}

fn join_texts(last: &mut Value, chunk: &Value) -> bool {
    let (Value::String(text), Value::String(more)) = (last, chunk) else { return false };
    text.push_str(more);
    true
}

fn join_deltas(last: &mut Value, chunk: &Value) -> bool {
    let Some(kind) = chunk["type"].as_str().filter(|kind| last["type"] == **kind) else {
        return false;
    };
    let Some((_, id, text)) = DELTAS.iter().find(|(name, ..)| *name == kind) else { return false };
    let is_plain = |chunk: &Value| chunk.as_object().is_some_and(|fields| fields.len() == 3);
    if last[*id] != chunk[*id] || !is_plain(last) || !is_plain(chunk) {
        return false;
    }
    let (Some(Value::String(held)), Value::String(more)) = (last.get_mut(*text), &chunk[*text])
    else {
        return false;
    };
    held.push_str(more);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(format: StreamFormat, chunks: &[&str]) -> Vec<String> {
        aggregated(format, chunks.iter().map(|&chunk| chunk.to_owned()).collect())
    }

    #[test]
    fn neighbouring_deltas_of_one_text_become_one_chunk() {
        let delta = |id: &str, text: &str| {
            format!(r#"{{"type":"text-delta","id":"{id}","delta":"{text}"}}"#)
        };
        let chunks = [delta("1", "a"), delta("1", "b"), delta("2", "c"), delta("1", "d")];
        let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
        let expected = [delta("1", "ab"), delta("2", "c"), delta("1", "d")];
        assert_eq!(joined(StreamFormat::UiMessage, &chunks), expected);
    }

    #[test]
    fn other_chunks_and_chunks_with_further_fields_stay() {
        let chunks = [
            r#"{"type":"start"}"#,
            r#"{"type":"start"}"#,
            r#"{"type":"text-delta","id":"1","delta":"a","providerMetadata":{}}"#,
            r#"{"type":"text-delta","id":"1","delta":"b"}"#,
        ];
        assert_eq!(joined(StreamFormat::UiMessage, &chunks), chunks);
        assert_eq!(joined(StreamFormat::Text, &[r#""a""#, r#""b""#]), [r#""ab""#]);
    }
}
