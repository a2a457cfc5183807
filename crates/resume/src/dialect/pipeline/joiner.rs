use std::mem;

use super::late_results::MAX_HELD_BYTES;
use crate::canonical::{AnswerMark, AnswerShape, CanonicalMessage, Role};

/// Joins the pieces of an answer of a model, which its dialect wrote as several messages.
///
/// Between pieces with an id, results of calls and notes that say nothing may come. The results follow the joined message,
/// in order.
#[derive(Debug, Default)]
pub(super) struct AnswerJoiner {
    /// The dialect whose pieces stay apart: its writer writes each as what it was.
    apart: &'static str,
    open: Option<OpenAnswer>,
}

/// An answer that may go on.
#[derive(Debug)]
struct OpenAnswer {
    mark: AnswerMark,
    message: CanonicalMessage,
    /// Reasoning after calls: it belongs to the answer if another call follows, and otherwise begins the next one.
    reasoning: Option<CanonicalMessage>,
    /// The results that came after the first piece.
    results: Vec<CanonicalMessage>,
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
            if is_note && open.mark.id.is_some() {
                handle(message);
                return;
            }
            let Some(message) = open.add(message, mark.as_ref()) else { return };
            let reasoning = open.reasoning.take().zip(Some(open.mark.clone()));
            self.finish(handle);
            if let Some((reasoning, mark)) = reasoning {
                self.open = Some(OpenAnswer::new(mark, reasoning));
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
        match mark {
            Some(mark) => self.open = Some(OpenAnswer::new(mark, message)),
            None => handle(message),
        }
    }

    /// Passes the messages that were held back to `handle`.
    pub(super) fn finish(&mut self, handle: &mut impl FnMut(CanonicalMessage)) {
        let Some(OpenAnswer { mark, message, reasoning, results, .. }) = self.open.take() else {
            return;
        };
        for mut message in [message].into_iter().chain(reasoning) {
            mark.remove(&mut message.provider);
            handle(message);
        }
        results.into_iter().for_each(handle);
    }
}

impl OpenAnswer {
    fn new(mark: AnswerMark, message: CanonicalMessage) -> Self {
        let bytes = message.approximate_bytes();
        Self { mark, message, reasoning: None, results: Vec::new(), bytes }
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
        if message.role == Role::Tool && self.mark.id.is_some() {
            self.bytes += bytes;
            self.results.push(message);
            return None;
        }
        let (shape, next) = (AnswerShape::of(&self.message), AnswerShape::of(&message));
        if !self.mark.is_same(shape, mark, next) || !self.message.can_join(&message) {
            return Some(message);
        }
        if self.reasoning.is_some() && next.has_content() {
            return Some(message);
        }
        self.bytes += bytes;
        if let Some(mark) = mark {
            mark.remove(&mut message.provider);
        }
        match (&mut self.reasoning, next.is_reasoning() && self.mark.id.is_none()) {
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
