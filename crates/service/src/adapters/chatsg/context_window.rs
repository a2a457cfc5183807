use std::collections::VecDeque;

use records::Message;
use resume::window::WindowScan;

/// How the messages of a context are chosen if there are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// The newest system messages, so many at most, and then the newest others.
    SlidingWindow { reserve: usize },
    /// The newest messages, whatever their types.
    Truncate,
}

/// Chooses the messages of a context, while it sees each message of a session once, in order.
///
/// A call and its results are both in the context, or both are not. Every message keeps its place.
#[derive(Debug)]
pub(super) struct ContextScan {
    max: usize,
    strategy: Strategy,
    /// How many messages were seen.
    total: usize,
    /// The newest messages, at most `max` of them: their sequences, and whether they are system messages.
    newest: VecDeque<(u64, bool)>,
    /// The sequences of the newest system messages, at most `max` of them.
    system: VecDeque<u64>,
    /// The sequences of the newest other messages, at most `max` of them.
    others: VecDeque<u64>,
    others_seen: usize,
    window: WindowScan,
}

/// The messages of a context.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChosenMessages {
    /// The sequences of the system messages, in order.
    system: Vec<u64>,
    /// The sequence from which on every other message belongs to it.
    first_other: u64,
    /// The number of messages from which they were chosen.
    pub(super) total: usize,
    /// The number of messages that were left out.
    pub(super) dropped: usize,
}

impl ContextScan {
    /// Begins to choose at most `max` messages.
    pub(super) fn new(max: usize, strategy: Strategy) -> Self {
        Self {
            max,
            strategy,
            total: 0,
            newest: VecDeque::new(),
            system: VecDeque::new(),
            others: VecDeque::new(),
            others_seen: 0,
            window: WindowScan::new(max),
        }
    }

    /// Sees the next message.
    pub(super) fn observe(&mut self, message: &Message) {
        let (sequence, is_system) = (message.sequence, is_system(message));
        self.total += 1;
        push_bounded(&mut self.newest, (sequence, is_system), self.max);
        if is_system {
            push_bounded(&mut self.system, sequence, self.max);
        } else {
            self.others_seen += 1;
            push_bounded(&mut self.others, sequence, self.max);
            self.window.observe(message);
        }
    }

    /// Ends the scan.
    pub(super) fn into_chosen(self) -> ChosenMessages {
        let system = match self.strategy {
            _ if self.total <= self.max => self.system.len(),
            Strategy::SlidingWindow { reserve } => self.system.len().min(reserve),
            Strategy::Truncate => self.newest.iter().filter(|(_, is_system)| *is_system).count(),
        };
        let room = match self.strategy {
            Strategy::SlidingWindow { .. } => self.max - system,
            Strategy::Truncate => self.newest.len() - system,
        };
        // The window sees only messages that are no system messages, so that its positions are those of `others`.
        let first = self.window.resized(room).into_window().first_dialogue();
        let left_out = first.saturating_sub(self.others_seen - self.others.len());
        let others = self.others.len().saturating_sub(left_out);
        ChosenMessages {
            first_other: self.others.get(left_out).copied().unwrap_or(u64::MAX),
            system: self.system.iter().skip(self.system.len() - system).copied().collect(),
            total: self.total,
            dropped: self.total - system - others,
        }
    }
}

impl ChosenMessages {
    /// Returns whether a message belongs to the context.
    pub(super) fn contains(&self, message: &Message) -> bool {
        if is_system(message) {
            self.system.binary_search(&message.sequence).is_ok()
        } else {
            message.sequence >= self.first_other
        }
    }

    /// Returns the sequence of the first message; `None` if there is none.
    pub(super) fn first(&self) -> Option<u64> {
        let first = self.system.first().copied().unwrap_or(u64::MAX).min(self.first_other);
        (first < u64::MAX).then_some(first)
    }
}

/// Returns whether a message instructs the model.
pub(super) fn is_system(message: &Message) -> bool {
    matches!(&*message.body.role, "system" | "developer")
}

fn push_bounded<T>(queue: &mut VecDeque<T>, item: T, max: usize) {
    queue.push_back(item);
    if queue.len() > max {
        queue.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use proptest::{collection, option, prop_assert_eq, proptest, sample};
    use records::{EventId, MessageBody};

    use super::*;

    fn conversation(roles: &[&str]) -> Vec<Message> {
        let numbered = (0..).zip(roles);
        let message = |(sequence, role): (u64, &&str)| Message {
            sequence,
            event_id: EventId::parse(format!("e{sequence}")).unwrap(),
            body: MessageBody::new(role, None, "x"),
            author: None,
            created_at: DateTime::UNIX_EPOCH,
            edited_at: None,
            edited_by: None,
            deleted_at: None,
            deleted_by: None,
            is_text_kept: false,
        };
        numbered.map(message).collect()
    }

    /// Returns the newest of some sequences.
    fn newest(sequences: &[u64], count: usize) -> Vec<u64> {
        sequences[sequences.len().saturating_sub(count)..].to_vec()
    }

    /// Returns the sequences of a context without calls, by the rules as they are written.
    fn expected(messages: &[Message], max: usize, strategy: Strategy) -> Vec<u64> {
        let all: Vec<u64> = messages.iter().map(|message| message.sequence).collect();
        if messages.len() <= max {
            return all;
        }
        let Strategy::SlidingWindow { reserve } = strategy else { return newest(&all, max) };
        let of = |wanted: bool| {
            let those = messages.iter().filter(|it| is_system(it) == wanted);
            those.map(|message| message.sequence).collect::<Vec<_>>()
        };
        let system = newest(&of(true), reserve.min(max));
        let mut kept = newest(&of(false), max - system.len());
        kept.extend(system);
        kept.sort_unstable();
        kept
    }

    proptest! {
        #[test]
        fn a_context_has_the_newest_messages_in_their_places(
            roles in collection::vec(sample::select(vec!["system", "user", "assistant"]), 0..20),
            max in 0_usize..12,
            reserve in option::of(0_usize..5),
        ) {
            let messages = conversation(&roles);
            let strategy = reserve.map_or(Strategy::Truncate, |reserve| Strategy::SlidingWindow { reserve });
            let mut scan = ContextScan::new(max, strategy);
            for message in &messages {
                scan.observe(message);
            }
            let chosen = scan.into_chosen();
            let kept = messages.iter().filter(|message| chosen.contains(message));
            let kept: Vec<_> = kept.map(|message| message.sequence).collect();
            prop_assert_eq!(&kept, &expected(&messages, max, strategy));
            prop_assert_eq!(chosen.first(), kept.first().copied());
            prop_assert_eq!((chosen.total, chosen.dropped), (roles.len(), roles.len() - kept.len()));
        }
    }
}
