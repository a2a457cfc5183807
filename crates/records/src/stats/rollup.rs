use std::fmt;

use super::Histogram;
use crate::{ChatStatus, ProviderCall, Tokens, Usage};

/// Declares an enum whose values have names in the store.
macro_rules! named {
    ($(#[$meta:meta])* $type:ident { $($(#[$doc:meta])* $value:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type {
            $($(#[$doc])* $value,)+
        }

        impl $type {
            /// Every value.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            /// Returns the name in the store.
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
    /// A counter of chats and calls.
    Counter {
        /// Provider calls.
        Calls = "calls",
        /// Tokens sent.
        PromptTokens = "prompt_tokens",
        /// Tokens received.
        CompletionTokens = "completion_tokens",
        /// All tokens.
        TotalTokens = "total_tokens",
        /// The cost of calls, in micro-dollars.
        CostMicros = "cost_micros_usd",
        /// The sum of the durations of calls, in milliseconds.
        CallDurationMs = "duration_ms",
        /// Chats created.
        Starts = "starts",
        /// Status changes to paused.
        Pauses = "pauses",
        /// Status changes from paused to running.
        Resumptions = "resumptions",
        /// Status changes to completed.
        Completions = "completions",
        /// Status changes to failed.
        Failures = "failures",
        /// Status changes from completed or failed to running.
        Reopens = "reopens",
        /// Chats that are running.
        Running = "running",
        /// Chats that are paused.
        Paused = "paused",
        /// Chats that are completed.
        Completed = "completed",
        /// Chats that are failed.
        Failed = "failed",
        /// The sum of the durations of ended chats, in milliseconds.
        ChatDurationMs = "chat_duration_ms",
    }
}

named! {
    /// A measure of each call or of each chat, of which the distribution is kept.
    Measure {
        /// The tokens of a call.
        CallTokens = "call_tokens",
        /// The cost of a call, in micro-dollars.
        CallCost = "call_cost_micros_usd",
        /// The duration of a call, in milliseconds.
        CallDuration = "call_duration_ms",
        /// The tokens of a chat with calls.
        ChatTokens = "chat_tokens",
        /// The cost of a chat with calls, in micro-dollars.
        ChatCost = "chat_cost_micros_usd",
        /// The duration of an ended chat, in milliseconds.
        ChatDuration = "chat_duration_ms",
    }
}

/// The counters and distributions of a set of chats and calls.
///
/// The difference between two rollups is a rollup, too; its numbers may be negative.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Rollup {
    counters: [i64; Counter::ALL.len()],
    histograms: [Histogram; Measure::ALL.len()],
}

impl Rollup {
    /// Returns a counter.
    #[must_use]
    pub fn get(&self, counter: Counter) -> i64 {
        self.counters[counter as usize]
    }

    /// Returns a counter that cannot be negative.
    #[must_use]
    pub fn count(&self, counter: Counter) -> u64 {
        u64::try_from(self.get(counter)).unwrap_or(0)
    }

    /// Returns the distribution of a measure.
    #[must_use]
    pub fn histogram(&self, measure: Measure) -> &Histogram {
        &self.histograms[measure as usize]
    }

    /// Adds to a counter.
    pub fn add(&mut self, counter: Counter, number: i64) {
        self.counters[counter as usize] += number;
    }

    /// Returns the distribution of a measure, to be changed.
    pub fn histogram_mut(&mut self, measure: Measure) -> &mut Histogram {
        &mut self.histograms[measure as usize]
    }

    /// Adds another rollup `times` times.
    pub fn merge(&mut self, other: &Self, times: i64) {
        for (number, other) in self.counters.iter_mut().zip(other.counters) {
            *number += other * times;
        }
        for (histogram, other) in self.histograms.iter_mut().zip(&other.histograms) {
            histogram.merge(other, times);
        }
    }

    /// Returns whether all counters and distributions are empty.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the usage of the calls.
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

    /// Returns the number of chats of any status, and of those that were removed before they had ended.
    #[must_use]
    pub fn chats(&self) -> u64 {
        self.count(Counter::Starts)
    }

    /// Creates a rollup that counts only the usage of calls.
    #[must_use]
    pub fn from_usage(usage: &Usage) -> Self {
        let mut rollup = Self::default();
        rollup.add(Counter::Calls, signed(usage.calls));
        rollup.add(Counter::PromptTokens, signed(usage.tokens.prompt));
        rollup.add(Counter::CompletionTokens, signed(usage.tokens.completion));
        rollup.add(Counter::TotalTokens, signed(usage.tokens.total));
        rollup.add(Counter::CostMicros, signed(usage.cost_micros));
        rollup.add(Counter::CallDurationMs, signed(usage.duration_ms));
        rollup
    }

    /// Adds the measures of a call `times` times.
    pub(super) fn measure_call(&mut self, call: &ProviderCall, times: i64) {
        self.histogram_mut(Measure::CallTokens).add(call.tokens.total, times);
        self.histogram_mut(Measure::CallCost).add(call.cost.micros(), times);
        self.histogram_mut(Measure::CallDuration).add(call.duration_ms, times);
    }

    /// Adds the measures of a chat, which are derived from the usage of all its calls, `times` times.
    pub(super) fn measure_usage(&mut self, usage: &Usage, times: i64) {
        if usage.calls > 0 {
            self.histogram_mut(Measure::ChatTokens).add(usage.tokens.total, times);
            self.histogram_mut(Measure::ChatCost).add(usage.cost_micros, times);
        }
    }
}

/// Shows only what is not zero.
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
    /// Returns the counter of the chats with a status.
    #[must_use]
    pub fn for_status(status: ChatStatus) -> Self {
        match status {
            ChatStatus::Running => Self::Running,
            ChatStatus::Paused => Self::Paused,
            ChatStatus::Completed => Self::Completed,
            ChatStatus::Failed => Self::Failed,
        }
    }

    /// Returns the counter of the changes from one status to another.
    #[must_use]
    pub fn for_change(from: ChatStatus, to: ChatStatus) -> Self {
        match to {
            ChatStatus::Running if from.is_ended() => Self::Reopens,
            ChatStatus::Running => Self::Resumptions,
            ChatStatus::Paused => Self::Pauses,
            ChatStatus::Completed => Self::Completions,
            ChatStatus::Failed => Self::Failures,
        }
    }
}

/// Converts a number; no stored number comes near the limit.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
