use std::collections::HashMap;

use super::rules::CallIdRule;
use crate::Repair;
use crate::calls::CallKey;
use crate::dropped::shorten;

/// Gives every call of a conversation, or of a message, an id of its own.
///
/// Providers refuse two calls with the same id, most of them in the whole conversation. Stored conversations do repeat
/// ids: models do, and a parsed transcript without ids gets `call_1`, `call_2`, … whatever the chat already holds.
#[derive(Debug)]
pub(super) struct CallIdAllocator {
    /// How often each reserved id was used so far.
    times_used: HashMap<CallKey, usize>,
}

impl CallIdAllocator {
    /// Reserves the ids of all calls in the conversation or message.
    ///
    /// They must be reserved before the first call is rendered: otherwise a new id that replaces a
    /// repeated one could be the id of a later call.
    pub(super) fn new(reserved: impl IntoIterator<Item = CallKey>) -> Self {
        Self { times_used: reserved.into_iter().map(|key| (key, 0)).collect() }
    }

    /// Uses the id of a call; returns the id that replaces it, if it needs one, and the repair to report.
    pub(super) fn allocate(&mut self, rule: CallIdRule, id: &str) -> Option<(String, Repair)> {
        if rule.accepts(id) {
            let new_id = self.use_id(rule, id)?;
            let (original, renamed) = (shorten(id), shorten(&new_id));
            return Some((new_id, Repair::CallIdRenamed { original, renamed }));
        }
        let sanitised = CallIdRule::digest(id);
        let new_id = self.use_id(rule, &sanitised).unwrap_or(sanitised);
        let (original, sanitised) = (shorten(id), new_id.clone());
        Some((new_id, Repair::CallIdSanitised { original, sanitised }))
    }

    /// Counts a use of an id; from the second use on, returns the id with the first unused suffix.
    fn use_id(&mut self, rule: CallIdRule, id: &str) -> Option<String> {
        let key = CallKey::from_id(id);
        let times = self.times_used.entry(key).or_default();
        *times += 1;
        let mut suffix = *times;
        if suffix == 1 {
            return None;
        }
        loop {
            let new_id = rule.suffixed(id, suffix);
            let new_key = CallKey::from_id(&new_id);
            if !self.times_used.contains_key(&new_key) {
                // The count remembers the suffix, so that the next use does not try all smaller
                // ones again: that would be quadratic in the number of repeated ids.
                // It is used now: the digest of another id may be the same.
                self.times_used.extend([(new_key, 1), (key, suffix)]);
                return Some(new_id);
            }
            suffix += 1;
        }
    }
}
