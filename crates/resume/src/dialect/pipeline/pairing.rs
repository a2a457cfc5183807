use std::collections::{HashMap, HashSet};
use std::mem;

use serde_json::Value;

use super::rules::CallIdRule;
use crate::calls::CallKey;
use crate::canonical::{Canonical, Role};
use crate::dropped::shown;
use crate::rendered::Origin;
use crate::{DropReason, Repair, Unsettled};

/// Pairs results with the calls they follow directly on.
#[derive(Debug)]
pub(super) struct Pairing {
    unsettled: Unsettled,
    exchange: Exchange,
    /// Every call before this exchange, kept or not.
    called: HashSet<CallKey>,
}

/// A message that is not a result, and the results that follow on it.
#[derive(Debug, Default)]
struct Exchange {
    caller: Option<Origin>,
    /// The id of every call that the message made.
    ids: HashSet<String>,
    /// The calls that were kept and are not answered yet.
    open: HashSet<String>,
    /// The new ids of calls, and how they are reported.
    renamed: HashMap<String, (String, Repair)>,
    calls: Fate,
}

/// What becomes of the calls of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Fate {
    /// They are rendered.
    #[default]
    Kept,
    /// They are taken away.
    Removed,
}

/// What stands in for a result that there is not.
const INTERRUPTED: &str = "The call was interrupted: there is no result.";

impl Pairing {
    pub(super) fn new(unsettled: Unsettled) -> Self {
        Self { unsettled, exchange: Exchange::default(), called: HashSet::new() }
    }

    /// Begins the exchange of a message; the one before must have been ended.
    pub(super) fn begin(&mut self, caller: &Canonical, calls: Fate) {
        let ids: HashSet<_> = caller.called_ids().map(str::to_owned).collect();
        let open = if calls == Fate::Kept { ids.clone() } else { HashSet::new() };
        let caller = Some(caller.origin);
        self.exchange = Exchange { caller, ids, open, renamed: HashMap::new(), calls };
    }

    /// Notes that a call of the message has a new id.
    pub(super) fn rename(&mut self, id: String, fresh: String, repair: Repair) {
        self.exchange.renamed.insert(id, (fresh, repair));
    }

    /// Lets a result answer its call, or says why it cannot.
    pub(super) fn answer(&mut self, result: &mut Canonical) -> Result<(), DropReason> {
        if !self.exchange.open.remove(&result.call_id) {
            return Err(self.objection(&result.call_id));
        }
        if let Some(fresh) = self.exchange.renamed.get(&result.call_id) {
            let (fresh, repair) = fresh.clone();
            result.repairs.push(repair);
            result.call_id = fresh;
        }
        Ok(())
    }

    /// Says why a result is left out.
    fn objection(&self, id: &str) -> DropReason {
        let (call_id, exchange) = (shown(id), &self.exchange);
        match (exchange.ids.contains(id), exchange.calls) {
            (true, Fate::Kept) => DropReason::DuplicateResult { call_id },
            (true, Fate::Removed) => DropReason::CallRemoved { call_id },
            (false, _) if self.called.contains(&CallKey::of_id(id)) => {
                DropReason::LateResult { call_id }
            }
            (false, _) => DropReason::OrphanResult { call_id },
        }
    }

    /// Ends the exchange, and returns a stand-in for each result that is missing.
    pub(super) fn end(&mut self) -> Vec<Canonical> {
        let Exchange { caller, ids, open, renamed, .. } = mem::take(&mut self.exchange);
        self.called.extend(ids.iter().map(|id| CallKey::of_id(id)));
        let Some(caller) = caller else {
            return Vec::new();
        };
        let mut missing: Vec<_> = open.into_iter().collect();
        missing.sort_unstable();
        let stand_in = |id: String| {
            let call_id = shown(&id);
            let (content, repair) = match self.unsettled {
                Unsettled::Settle => (INTERRUPTED, Repair::ResultAdded { call_id }),
                _ => ("null", Repair::DeletedResultReplaced { call_id }),
            };
            let mut message = Canonical::new(caller, Role::Tool, Value::from(content));
            message.is_error = self.unsettled == Unsettled::Settle;
            message.repairs.push(repair);
            message.call_id = renamed.get(&id).map_or(id, |(fresh, _)| fresh.clone());
            message
        };
        missing.into_iter().map(stand_in).collect()
    }
}

/// Gives every call an id of its own.
#[derive(Debug)]
pub(super) struct CallIds {
    /// How often each id that is taken has been used so far.
    times_used: HashMap<CallKey, usize>,
}

impl CallIds {
    /// Begins with ids that are taken, and have not been used so far.
    pub(super) fn new(taken: impl IntoIterator<Item = CallKey>) -> Self {
        Self { times_used: taken.into_iter().map(|key| (key, 0)).collect() }
    }

    /// Uses an id; returns the one to be used instead if there must be another one.
    pub(super) fn admit(&mut self, rule: CallIdRule, id: &str) -> Option<(String, Repair)> {
        if rule.admits(id) {
            let fresh = self.use_id(rule, id)?;
            let (original, renamed) = (shown(id), shown(&fresh));
            return Some((fresh, Repair::CallIdRenamed { original, renamed }));
        }
        let sanitised = CallIdRule::digest(id);
        let fresh = self.use_id(rule, &sanitised).unwrap_or(sanitised);
        let (original, sanitised) = (shown(id), fresh.clone());
        Some((fresh, Repair::CallIdSanitised { original, sanitised }))
    }

    /// Uses an id; returns another one to be used instead if it is not the first time: the id with
    /// the first suffix that gives one nobody has taken.
    fn use_id(&mut self, rule: CallIdRule, id: &str) -> Option<String> {
        let key = CallKey::of_id(id);
        let times = self.times_used.entry(key).or_default();
        *times += 1;
        let mut suffix = *times;
        if suffix == 1 {
            return None;
        }
        loop {
            let fresh = rule.suffixed(id, suffix);
            let fresh_key = CallKey::of_id(&fresh);
            if !self.times_used.contains_key(&fresh_key) {
                self.times_used.extend([(fresh_key, 0), (key, suffix)]);
                return Some(fresh);
            }
            suffix += 1;
        }
    }
}
