//! The newest changes of documents, in memory for all subscribers of the process.
//!
//! Other than a chat, a document has no log in the store from which a subscriber could catch up. A subscriber whose position is not
//! in the log any more, or in that of another process, is told to list the documents again.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use persistence::{DocumentChange, Store};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::feeds::{StreamShares, too_many_subscribers};
use crate::problem::Problem;

/// How many changes are kept. A path has at most 1,024 bytes.
const KEPT_CHANGES: usize = 8_192;

/// How long changes are still followed after the last subscriber has left, at least, so that it finds them when it reconnects.
const LINGER: Duration = Duration::from_secs(30);

/// How much a subscriber has been told: a log, and how many of its changes.
///
/// As text it is the id of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DocumentPosition {
    /// The log: another for each process, and whenever changes may be missing.
    pub(super) log: u64,
    pub(super) next: u64,
}

impl fmt::Display for DocumentPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}.{}", self.log, self.next)
    }
}

impl FromStr for DocumentPosition {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const RULE: &str = "must be the id of an event, such as 9f552f6c1d0e8a41.7";
        let (log, next) = text.split_once('.').ok_or(RULE)?;
        let is_plain = log.len() == 16
            && log.bytes().all(|byte| byte.is_ascii_hexdigit())
            && next.bytes().all(|byte| byte.is_ascii_digit());
        let log = u64::from_str_radix(log, 16).ok().filter(|_| is_plain).ok_or(RULE)?;
        Ok(Self { log, next: next.parse().map_err(|_| RULE)? })
    }
}

/// The kept changes.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// `None` while changes may be missing.
    log: Option<u64>,
    /// How many changes of the log came before those that are kept.
    first: u64,
    changes: VecDeque<DocumentChange>,
}

impl Kept {
    /// Returns the position after all changes; `None` while changes may be missing.
    pub(super) fn end(&self) -> Option<DocumentPosition> {
        Some(DocumentPosition { log: self.log?, next: self.first + self.changes.len() as u64 })
    }

    /// Returns the changes after a position; `None` if it is of another log, or some of them are gone.
    pub(super) fn after(
        &self,
        at: DocumentPosition,
    ) -> Option<impl Iterator<Item = &DocumentChange>> {
        let is_of_log = self.log == Some(at.log) && at.next <= self.end()?.next;
        let told = at.next.checked_sub(self.first).filter(|_| is_of_log)?;
        Some(self.changes.iter().skip(usize::try_from(told).ok()?))
    }

    fn add(&mut self, change: DocumentChange) {
        match change {
            DocumentChange::Began => {
                *self = Self { log: Some(fastrand::u64(..)), ..Self::default() }
            }
            DocumentChange::Lost => *self = Self::default(),
            DocumentChange::Written { .. } | DocumentChange::Deleted { .. } => {
                if self.changes.len() == KEPT_CHANGES {
                    self.changes.pop_front();
                    self.first += 1;
                }
                self.changes.push_back(change);
            }
        }
    }
}

/// Follows the changes of documents while there are subscribers.
#[derive(Debug, Default)]
pub(super) struct DocumentLog {
    kept: watch::Sender<Kept>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    subscribers: usize,
    is_followed: bool,
}

impl DocumentLog {
    /// Admits a subscriber, unless the process has as many as it may have. The first one starts the task that follows the changes.
    pub(super) fn admit(
        self: &Arc<Self>,
        limit: usize,
        shares: StreamShares,
        store: &Arc<dyn Store>,
    ) -> Result<DocumentPermit, Problem> {
        let mut state = self.state();
        if state.subscribers >= limit {
            return Err(too_many_subscribers("the service process", limit));
        }
        state.subscribers += 1;
        if !state.is_followed {
            state.is_followed = true;
            tokio::spawn(Arc::clone(self).follow(Arc::clone(store)));
        }
        Ok(DocumentPermit { log: Arc::clone(self), _shares: shares })
    }

    async fn follow(self: Arc<Self>, store: Arc<dyn Store>) {
        let mut changes = store.document_changes();
        let mut ticks = interval(LINGER);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut was_idle = false;
        loop {
            tokio::select! {
                change = changes.next() => {
                    let Some(change) = change else { return };
                    self.kept.send_modify(|kept| kept.add(change));
                }
                _ = ticks.tick() => {
                    if std::mem::replace(&mut was_idle, self.is_idle()) && self.stops() {
                        return;
                    }
                }
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.state().subscribers == 0
    }

    /// Ends the log, if there is still no subscriber.
    fn stops(&self) -> bool {
        let mut state = self.state();
        if state.subscribers > 0 {
            return false;
        }
        state.is_followed = false;
        self.kept.send_replace(Kept::default());
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held, and the count would be right even then.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right of one subscriber to use the log; dropping it gives the right back.
#[derive(Debug)]
pub(super) struct DocumentPermit {
    log: Arc<DocumentLog>,
    _shares: StreamShares,
}

impl DocumentPermit {
    pub(super) fn subscribe(&self) -> watch::Receiver<Kept> {
        self.log.kept.subscribe()
    }
}

impl Drop for DocumentPermit {
    fn drop(&mut self) {
        self.log.state().subscribers -= 1;
    }
}

#[cfg(test)]
mod tests {
    use records::{AppId, DocumentPath};

    use super::*;

    fn deleted(name: usize) -> DocumentChange {
        let app_id = AppId::parse("app").unwrap();
        DocumentChange::Deleted { app_id, path: DocumentPath::parse(name.to_string()).unwrap() }
    }

    #[test]
    fn a_position_is_read_as_it_was_written() {
        let position = DocumentPosition { log: 0xab, next: 7 };
        assert_eq!(position.to_string(), "00000000000000ab.7");
        assert_eq!(position.to_string().parse(), Ok(position));
        for text in
            ["", "7", "ab.7", "00000000000000ab.", "00000000000000ab.-1", "+0000000000000ab.1"]
        {
            assert!(text.parse::<DocumentPosition>().is_err(), "{text}");
        }
    }

    #[test]
    fn changes_that_are_gone_are_not_passed_over() {
        let mut kept = Kept::default();
        assert_eq!(kept.end(), None);
        kept.add(DocumentChange::Began);
        let begin = kept.end().unwrap();
        (0..KEPT_CHANGES).for_each(|name| kept.add(deleted(name)));
        assert_eq!(kept.after(begin).unwrap().count(), KEPT_CHANGES);
        kept.add(deleted(0));
        assert!(kept.after(begin).is_none());
        let second = DocumentPosition { next: 1, ..begin };
        assert_eq!(kept.after(second).unwrap().last(), Some(&deleted(0)));
        let end = kept.end().unwrap();
        assert_eq!(kept.after(end).unwrap().count(), 0);
        assert!(kept.after(DocumentPosition { next: end.next + 1, ..end }).is_none());
        kept.add(DocumentChange::Lost);
        assert!(kept.after(end).is_none());
        kept.add(DocumentChange::Began);
        assert!(kept.after(end).is_none());
        assert_ne!(kept.end(), Some(begin));
    }
}
