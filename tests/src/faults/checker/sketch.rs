//! Histories written by hand: one chat, times in microseconds.

use std::time::Duration;

use super::{Kind, Rules, check};
use crate::faults::history::{
    Answer, Append, ChatState, FinalState, History, Listed, Listen, Moment, Operation, Outcome,
    Page, Placed, Read, Record, Refusal, Replay, Sent, StoredMessage, Told,
};

pub(super) const CHAT: &str = "chat";

/// A history under construction.
#[derive(Clone)]
pub(super) struct Sketch(History);

/// When an operation begins and ends.
type Span = [u64; 2];

impl Sketch {
    pub(super) fn new() -> Self {
        let state = || [(CHAT.to_owned(), ChatState::default())].into();
        let final_state = FinalState { served: state(), stored: state(), ..FinalState::default() };
        Self(History { records: Vec::new(), final_state })
    }

    /// Adds the content that a document has in the end.
    pub(super) fn with_document(mut self, path: &str, content: Option<&str>) -> Self {
        let content = content.map(|content| (path.to_owned(), content.to_owned()));
        self.0.final_state.documents.extend(content);
        self
    }

    pub(super) fn history(&self) -> &History {
        &self.0
    }

    pub(super) fn record(mut self, [t0, t1]: Span, operation: Operation) -> Self {
        self.0.records.push(Record { client: 0, t0: Moment(t0), t1: Moment(t1), operation });
        self
    }

    /// Stores a new message.
    pub(super) fn append(self, event_id: &str, sequence: u64, span: Span) -> Self {
        self.acknowledged(event_id, Placed { sequence, duplicate: false }, span)
    }

    /// Sends a message again.
    pub(super) fn repeat(self, event_id: &str, sequence: u64, span: Span) -> Self {
        self.acknowledged(event_id, Placed { sequence, duplicate: true }, span)
    }

    fn acknowledged(self, event_id: &str, placed: Placed, span: Span) -> Self {
        let answer = Answer { last_sequence: placed.sequence + 1, messages: vec![placed] };
        self.appended([event_id], Outcome::Ok(answer), span)
    }

    pub(super) fn unknown(self, event_id: &str, span: Span) -> Self {
        self.unknown_batch([event_id], span)
    }

    pub(super) fn unknown_batch<const N: usize>(self, ids: [&str; N], span: Span) -> Self {
        self.appended(ids, unknown(), span)
    }

    pub(super) fn refused(self, event_id: &str, span: Span) -> Self {
        self.appended([event_id], refused(), span)
    }

    fn appended<const N: usize>(
        self,
        ids: [&str; N],
        outcome: Outcome<Answer>,
        span: Span,
    ) -> Self {
        let sent = |id: &str| Sent { event_id: id.to_owned(), hash: hash(id) };
        let messages = ids.map(sent).to_vec();
        let append = Append { chat: CHAT.to_owned(), messages, outcome };
        self.record(span, Operation::Append(append))
    }

    /// Reads a page, after a sequence or of the newest messages, that reports no more messages.
    pub(super) fn read<const N: usize>(
        self,
        after: Option<i64>,
        messages: [(u64, &str); N],
        last_sequence: u64,
        span: Span,
    ) -> Self {
        let messages = messages.map(|(sequence, id)| message(sequence, id)).to_vec();
        let page = Page { last_sequence, has_more: false, messages };
        let read = Read { chat: CHAT.to_owned(), after, outcome: Outcome::Ok(page) };
        self.record(span, Operation::Read(read))
    }

    pub(super) fn replay<const N: usize>(self, ids: [&str; N]) -> Self {
        let outcome = Outcome::Ok(ids.map(str::to_owned).to_vec());
        self.record([7, 8], Operation::Replay(Replay { chat: CHAT.to_owned(), outcome }))
    }

    /// Delivers messages to a subscriber, which has everything up to a sequence, at the end of the span.
    pub(super) fn told<const N: usize>(
        self,
        after: i64,
        messages: [(u64, &str); N],
        span: Span,
    ) -> Self {
        let [since, at] = span.map(Moment);
        let told = messages.map(|(sequence, id)| Told { at, message: message(sequence, id) });
        let (chat, outcome) = (CHAT.to_owned(), Outcome::Ok(()));
        let listen = Listen { chat, after, since, told: told.to_vec(), outcome };
        self.record(span, Operation::Listen(listen))
    }

    pub(super) fn list<const N: usize>(self, chats: [(&str, u64); N]) -> Self {
        let listed =
            chats.map(|(chat, last_sequence)| Listed { chat: chat.to_owned(), last_sequence });
        self.record([7, 8], Operation::List { outcome: Outcome::Ok(listed.to_vec()) })
    }

    pub(super) fn context(self, version: u64, outcome: Outcome<()>, span: Span) -> Self {
        self.record(span, Operation::WriteContext { chat: CHAT.to_owned(), version, outcome })
    }

    pub(super) fn read_context(self, version: u64, span: Span) -> Self {
        let outcome = Outcome::Ok(version);
        self.record(span, Operation::ReadContext { chat: CHAT.to_owned(), outcome })
    }

    /// Sets the messages that are stored in the end.
    pub(super) fn ends_with<'a>(mut self, ids: impl IntoIterator<Item = &'a str>) -> Self {
        let messages: Vec<_> = (0..).zip(ids).map(|(sequence, id)| message(sequence, id)).collect();
        for state in self.states() {
            state.messages.clone_from(&messages);
        }
        self
    }

    pub(super) fn ends_with_context(mut self, version: u64) -> Self {
        for state in self.states() {
            state.context = version;
        }
        self
    }

    /// The final chat, as served and as stored.
    pub(super) fn states(&mut self) -> [&mut ChatState; 2] {
        let FinalState { served, stored, .. } = &mut self.0.final_state;
        [served, stored].map(|state| state.get_mut(CHAT).unwrap())
    }
}

fn message(sequence: u64, id: &str) -> StoredMessage {
    StoredMessage { sequence, event_id: id.to_owned(), hash: hash(id) }
}

fn hash(id: &str) -> String {
    format!("hash of {id}")
}

pub(super) fn unknown<T>() -> Outcome<T> {
    let code = "outcome-unknown".to_owned();
    Outcome::Info(Refusal { code, status: Some(504), retry_after: Some(1) })
}

pub(super) fn refused<T>() -> Outcome<T> {
    let code = "store-unavailable".to_owned();
    Outcome::Fail(Refusal { code, status: Some(503), retry_after: Some(2) })
}

pub(super) fn rules() -> Rules {
    let codes = ["outcome-unknown", "store-unavailable"].map(str::to_owned).into();
    Rules { codes, deadline: Duration::from_secs(1) }
}

/// The kinds of what the checker finds.
pub(super) fn kinds(sketch: &Sketch) -> Vec<Kind> {
    check(sketch.history(), &rules()).into_iter().map(|finding| finding.kind).collect()
}
