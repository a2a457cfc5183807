//! Checks a history against the promises of the service.
//!
//! The checker knows neither HTTP nor any database: its input is a history, its output are findings.
//! The service gives every message a sequence, and with it a total order, so each check only sorts and
//! looks up.

mod answers;
mod appends;
mod chat;
mod codes;
mod contexts;
mod deadlines;
mod documents;
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

/// The parameters of a check that differ between trials.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The error codes that callers may get.
    pub codes: BTreeSet<String>,
    /// The longest accepted time of an operation.
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

/// Checks a history, and returns all findings.
pub fn check(history: &History, rules: &Rules) -> Vec<Finding> {
    let mut findings = Vec::new();
    for chat in Chat::all(history) {
        for check in CHAT_CHECKS {
            check(&chat, &mut findings);
        }
    }
    lists::check(history, &mut findings);
    documents::check(history, &mut findings);
    codes::check(history, rules, &mut findings);
    deadlines::check(history, rules, &mut findings);
    findings
}
