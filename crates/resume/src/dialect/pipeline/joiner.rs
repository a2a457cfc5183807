use std::mem;

use super::late_results::MAX_HELD_BYTES;
use crate::canonical::{AnswerMark, AnswerShape, CanonicalMessage, ContinuedMark, Role};

/// Joins the pieces of an answer of a model, which its dialect wrote as several messages, and the parts of a message that
/// came in several requests.
///
/// Between pieces with an id, results of calls and notes that say nothing may come. The results follow the joined message,
/// in order.
#[derive(Debug, Default)]
pub(super) struct AnswerJoiner {
    /// The dialect whose pieces stay apart: its writer writes each as what it was.
    apart: &'static str,
    open: Option<OpenAnswer>,
}

/// An answer or a message that may go on.
#[derive(Debug)]
struct OpenAnswer {
    /// `None` for a message that is no piece: only the rest of it can be added.
    mark: Option<AnswerMark>,
    message: CanonicalMessage,
    /// Reasoning after calls: it belongs to the answer if another call follows, and otherwise begins the next one.
    reasoning: Option<CanonicalMessage>,
    /// The results that came after the first piece.
    results: Vec<CanonicalMessage>,
    /// Its size; 0 while nothing was added to a message that is no piece.
    bytes: usize,
}

impl AnswerJoiner {
    pub(super) fn new(apart: &'static str) -> Self {
        Self { apart, open: None }
    }

    /// Adds the next message, and passes those to which nothing can be added any more to `handle`.
    pub(super) fn add(
        &mut self,
        message: CanonicalMessage,
        handle: &mut impl FnMut(CanonicalMessage),
    ) {
        let mark = AnswerMark::read(&message.provider).filter(|mark| mark.dialect != self.apart);
        if let Some(open) = &mut self.open {
            let is_note = mark.is_none() && message.says_nothing();
            if is_note && open.has_id() {
                handle(message);
                return;
            }
            let rest = match &open.mark {
                Some(_) => open.add(message, mark.as_ref()),
                None => open.continue_with(message, self.apart),
            };
            let Some(message) = rest else { return };
            let (reasoning, open_mark) = (open.reasoning.take(), open.mark.clone());
            self.finish(handle);
            if let Some(reasoning) = reasoning {
                self.open = Some(OpenAnswer::new(open_mark, reasoning));
                self.add(message, handle);
            } else {
                self.begin(message, mark, handle);
            }
            return;
        }
        self.begin(message, mark, handle);
    }

    fn begin(
        &mut self,
        message: CanonicalMessage,
        mark: Option<AnswerMark>,
        handle: &mut impl FnMut(CanonicalMessage),
    ) {
        if mark.is_some() || matches!(message.role, Role::Assistant | Role::User) {
            self.open = Some(OpenAnswer::new(mark, message));
        } else {
            handle(message);
        }
    }

    /// Passes the messages that were held back to `handle`.
    pub(super) fn finish(&mut self, handle: &mut impl FnMut(CanonicalMessage)) {
        let Some(OpenAnswer { mark, message, reasoning, results, .. }) = self.open.take() else {
            return;
        };
        for mut message in [message].into_iter().chain(reasoning) {
            if let Some(mark) = &mark {
                mark.remove(&mut message.provider);
            }
            handle(message);
        }
        results.into_iter().for_each(handle);
    }
}

impl OpenAnswer {
    fn new(mark: Option<AnswerMark>, message: CanonicalMessage) -> Self {
        let bytes = if mark.is_some() { message.approximate_bytes() } else { 0 };
        Self { mark, message, reasoning: None, results: Vec::new(), bytes }
    }

    fn has_id(&self) -> bool {
        self.mark.as_ref().is_some_and(|mark| mark.id.is_some())
    }

    /// Adds the rest of the message; returns the next message if it is not that.
    fn continue_with(
        &mut self,
        message: CanonicalMessage,
        apart: &str,
    ) -> Option<CanonicalMessage> {
        let first = &self.message;
        let mark = |of: &CanonicalMessage| {
            ContinuedMark::read(&of.provider).filter(|mark| mark.dialect != apart)
        };
        let continues = mark(&message).is_some_and(|it| {
            it.continues(first.role.as_str(), &first.event_id, mark(first).as_ref())
        });
        if !continues || !first.can_continue_with(&message) {
            return Some(message);
        }
        if self.bytes == 0 {
            self.bytes = first.approximate_bytes();
        }
        let bytes = message.approximate_bytes();
        if self.bytes + bytes > MAX_HELD_BYTES {
            return Some(message);
        }
        self.bytes += bytes;
        self.message.continue_with(message);
        None
    }

    /// Adds the next message; returns it if it is no piece of the answer.
    fn add(
        &mut self,
        mut message: CanonicalMessage,
        mark: Option<&AnswerMark>,
    ) -> Option<CanonicalMessage> {
        let bytes = message.approximate_bytes();
        if self.bytes + bytes > MAX_HELD_BYTES {
            return Some(message);
        }
        let Some(own) = &self.mark else { return Some(message) };
        if message.role == Role::Tool && own.id.is_some() {
            self.bytes += bytes;
            self.results.push(message);
            return None;
        }
        let (shape, next) = (AnswerShape::of(&self.message), AnswerShape::of(&message));
        if !own.is_same(shape, mark, next) || !self.message.can_join(&message) {
            return Some(message);
        }
        if self.reasoning.is_some() && next.has_content() {
            return Some(message);
        }
        self.bytes += bytes;
        if let Some(mark) = mark {
            mark.remove(&mut message.provider);
        }
        match (&mut self.reasoning, next.is_reasoning() && own.id.is_none()) {
            (Some(reasoning), true) => reasoning.join(message),
            (None, true) if !shape.is_reasoning() => self.reasoning = Some(message),
            (reasoning, _) => {
                let reasoning = mem::take(reasoning);
                reasoning.into_iter().chain([message]).for_each(|piece| self.message.join(piece));
            }
        }
        None
    }
}
