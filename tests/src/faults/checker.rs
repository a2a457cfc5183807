//! Holds a history to what the service promises.
//!
//! The checker knows neither HTTP nor any database: a history comes in, findings come out. The
//! system gives every message a sequence, and with that a total order, so no search for one is
//! needed: each check is a matter of sorting and of looking up.

mod answers;
mod appends;
mod chat;
mod codes;
mod contexts;
mod deadlines;
mod finding;
mod lists;
mod order;
mod reads;
#[cfg(test)]
mod sketch;
mod states;
mod subscriptions;

pub use finding::{Finding, Kind};

use std::collections::BTreeSet;
use std::time::Duration;

use super::history::History;
use chat::Chat;

/// What differs from trial to trial.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The codes that callers may be refused with.
    pub codes: BTreeSet<String>,
    /// How long an operation may take.
    pub deadline: Duration,
}

/// A check of one chat.
type ChatCheck = fn(&Chat<'_>, &mut Vec<Finding>);

const CHAT_CHECKS: [ChatCheck; 7] = [
    states::check,
    appends::check,
    answers::check,
    order::check,
    reads::check,
    subscriptions::check,
    contexts::check,
];

/// Checks a history, and answers with everything that is wrong with it.
pub fn check(history: &History, rules: &Rules) -> Vec<Finding> {
    let mut findings = Vec::new();
    for chat in Chat::all(history) {
        for check in CHAT_CHECKS {
            check(&chat, &mut findings);
        }
    }
    lists::check(history, &mut findings);
    codes::check(history, rules, &mut findings);
    deadlines::check(history, rules, &mut findings);
    findings
}
