use std::fmt;

use super::Histogram;
use crate::{ChatStatus, ProviderCall, Tokens, Usage};

/// Declares an enum whose values have names.
macro_rules! named {
    ($(#[$meta:meta])* $type:ident { $($(#[$doc:meta])* $value:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type {
            $($(#[$doc])* $value,)+
        }

        impl $type {
            /// All of them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// Returns the name it is stored under.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }
    };
}

named! {
    /// A number that is kept of chats and calls.
    Counter {
        /// Calls of models.
        Calls = "calls",
        /// Tokens sent.
        PromptTokens = "prompt_tokens",
        /// Tokens received.
        CompletionTokens = "completion_tokens",
        /// All tokens that are counted.
        TotalTokens = "total_tokens",
        /// What calls cost, in micro-dollars.
        CostMicros = "cost_micros_usd",
        /// How long calls took, one after the other, in milliseconds.
        CallDurationMs = "duration_ms",
        /// Chats created.
        Starts = "starts",
        /// Moves to paused.
        Pauses = "pauses",
        /// Moves from paused to running.
        Resumptions = "resumptions",
        /// Moves to completed.
        Completions = "completions",
        /// Moves to failed.
        Failures = "failures",
        /// Moves from an end to running.
        Reopens = "reopens",
        /// Chats that are running.
        Running = "running",
        /// Chats that are paused.
        Paused = "paused",
        /// Chats that are completed.
        Completed = "completed",
        /// Chats that are failed.
        Failed = "failed",
        /// How long the chats took that have ended, in milliseconds.
        ChatDurationMs = "chat_duration_ms",
    }
}

named! {
    /// Something that is measured of each call, or of each chat.
    Measure {
        /// The tokens of a call.
        CallTokens = "call_tokens",
        /// The cost of a call, in micro-dollars.
        CallCost = "call_cost_micros_usd",
        /// How long a call took, in milliseconds.
        CallDuration = "call_duration_ms",
        /// The tokens of a chat that has made calls.
        ChatTokens = "chat_tokens",
        /// The cost of a chat that has made calls, in micro-dollars.
        ChatCost = "chat_cost_micros_usd",
        /// How long a chat took that has ended, in milliseconds.
        ChatDuration = "chat_duration_ms",
    }
}

/// What chats and calls add up to.
///
/// A change of it is one, too: then numbers may be negative.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Rollup {
    counters: [i64; Counter::ALL.len()],
    histograms: [Histogram; Measure::ALL.len()],
}

impl Rollup {
    /// Returns one of its numbers.
    #[must_use]
    pub fn get(&self, counter: Counter) -> i64 {
        self.counters[counter as usize]
    }

    /// Returns a number of which there cannot be less than none.
    #[must_use]
    pub fn count(&self, counter: Counter) -> u64 {
        u64::try_from(self.get(counter)).unwrap_or(0)
    }

    /// Returns how one of its measures is distributed.
    #[must_use]
    pub fn histogram(&self, measure: Measure) -> &Histogram {
        &self.histograms[measure as usize]
    }

    /// Adds to one of its numbers.
    pub fn add(&mut self, counter: Counter, number: i64) {
        self.counters[counter as usize] += number;
    }

    /// Returns how one of its measures is distributed, to be changed.
    pub fn histogram_mut(&mut self, measure: Measure) -> &mut Histogram {
        &mut self.histograms[measure as usize]
    }

    /// Adds another one so many times.
    pub fn merge(&mut self, other: &Self, times: i64) {
        for (number, other) in self.counters.iter_mut().zip(other.counters) {
            *number += other * times;
        }
        for (histogram, other) in self.histograms.iter_mut().zip(&other.histograms) {
            histogram.merge(other, times);
        }
    }

    /// Tells whether nothing is counted.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Returns what its calls took.
    #[must_use]
    pub fn usage(&self) -> Usage {
        Usage {
            calls: self.count(Counter::Calls),
            tokens: Tokens {
                prompt: self.count(Counter::PromptTokens),
                completion: self.count(Counter::CompletionTokens),
                total: self.count(Counter::TotalTokens),
            },
            cost_micros: self.count(Counter::CostMicros),
            duration_ms: self.count(Counter::CallDurationMs),
        }
    }

    /// Returns how many chats there are, whatever their status.
    #[must_use]
    pub fn chats(&self) -> u64 {
        ChatStatus::ALL.into_iter().map(|status| self.count(Counter::of(status))).sum()
    }

    /// Returns what counts nothing but what calls took.
    #[must_use]
    pub fn of_usage(usage: &Usage) -> Self {
        let mut rollup = Self::default();
        rollup.add(Counter::Calls, signed(usage.calls));
        rollup.add(Counter::PromptTokens, signed(usage.tokens.prompt));
        rollup.add(Counter::CompletionTokens, signed(usage.tokens.completion));
        rollup.add(Counter::TotalTokens, signed(usage.tokens.total));
        rollup.add(Counter::CostMicros, signed(usage.cost_micros));
        rollup.add(Counter::CallDurationMs, signed(usage.duration_ms));
        rollup
    }

    /// Adds so many times how much a call took to what is measured of each.
    pub(super) fn measure_call(&mut self, call: &ProviderCall, times: i64) {
        self.histogram_mut(Measure::CallTokens).add(call.tokens.total, times);
        self.histogram_mut(Measure::CallCost).add(call.cost.micros(), times);
        self.histogram_mut(Measure::CallDuration).add(call.duration_ms, times);
    }

    /// Adds so many times what all calls of a chat took to what is measured of each chat.
    pub(super) fn measure_usage(&mut self, usage: &Usage, times: i64) {
        if usage.calls > 0 {
            self.histogram_mut(Measure::ChatTokens).add(usage.tokens.total, times);
            self.histogram_mut(Measure::ChatCost).add(usage.cost_micros, times);
        }
    }
}

/// Shows what is not zero.
impl fmt::Debug for Rollup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counters = Counter::ALL.iter().map(|counter| (counter.name(), self.get(*counter)));
        let measures =
            Measure::ALL.iter().map(|measure| (measure.name(), self.histogram(*measure)));
        f.debug_map()
            .entries(counters.filter(|(_, number)| *number != 0))
            .entries(measures.filter(|(_, histogram)| **histogram != Histogram::default()))
            .finish()
    }
}

impl Counter {
    /// Returns the one for the chats of a status.
    #[must_use]
    pub fn of(status: ChatStatus) -> Self {
        match status {
            ChatStatus::Running => Self::Running,
            ChatStatus::Paused => Self::Paused,
            ChatStatus::Completed => Self::Completed,
            ChatStatus::Failed => Self::Failed,
        }
    }

    /// Returns the one for the moves from one status to another.
    #[must_use]
    pub fn of_move(from: ChatStatus, to: ChatStatus) -> Self {
        match to {
            ChatStatus::Running if from.is_ended() => Self::Reopens,
            ChatStatus::Running => Self::Resumptions,
            ChatStatus::Paused => Self::Pauses,
            ChatStatus::Completed => Self::Completions,
            ChatStatus::Failed => Self::Failures,
        }
    }
}

/// No number that is kept comes near the largest.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
