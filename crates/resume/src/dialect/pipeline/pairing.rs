use std::collections::{HashMap, HashSet};
use std::mem;

use serde_json::Value;

use crate::calls::CallKey;
use crate::canonical::{Canonical, Role};
use crate::dialect::Origin;
use crate::dropped::shown;
use crate::{DropReason, Repair};

/// Pairs results with the calls they follow directly on.
#[derive(Debug, Default)]
pub(super) struct Pairing {
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
    /// The new ids of calls.
    renamed: HashMap<String, String>,
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

impl Pairing {
    /// Begins the exchange of a message; the one before must have been ended.
    pub(super) fn begin(&mut self, caller: &Canonical, calls: Fate) {
        let ids: HashSet<_> = caller.called_ids().map(str::to_owned).collect();
        let open = if calls == Fate::Kept { ids.clone() } else { HashSet::new() };
        let caller = Some(caller.origin);
        self.exchange = Exchange { caller, ids, open, renamed: HashMap::new(), calls };
    }

    /// Notes that a call of the message has a new id.
    pub(super) fn rename(&mut self, id: String, fresh: String) {
        self.exchange.renamed.insert(id, fresh);
    }

    /// Lets a result answer its call, or says why it cannot.
    pub(super) fn answer(&mut self, result: &mut Canonical) -> Result<(), DropReason> {
        if !self.exchange.open.remove(&result.call_id) {
            return Err(self.objection(&result.call_id));
        }
        if let Some(fresh) = self.exchange.renamed.get(&result.call_id) {
            result.repairs.push(renaming(&result.call_id, fresh));
            result.call_id.clone_from(fresh);
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

    /// Ends the exchange, and returns a stand-in for each result that has gone since the survey.
    pub(super) fn end(&mut self) -> Vec<Canonical> {
        let Exchange { caller, ids, open, renamed, .. } = mem::take(&mut self.exchange);
        self.called.extend(ids.iter().map(|id| CallKey::of_id(id)));
        let Some(caller) = caller else {
            return Vec::new();
        };
        let mut missing: Vec<_> = open.into_iter().collect();
        missing.sort_unstable();
        let stand_in = |id: String| {
            let mut message = Canonical::new(caller, Role::Tool, Value::from("null"));
            message.repairs.push(Repair::DeletedResultReplaced { call_id: shown(&id) });
            message.call_id = renamed.get(&id).cloned().unwrap_or(id);
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

    /// Uses an id; returns another one to be used instead if it is not the first time: the id with
    /// the first suffix that gives one nobody has taken.
    pub(super) fn use_id(&mut self, id: &str) -> Option<String> {
        let key = CallKey::of_id(id);
        let times = self.times_used.entry(key).or_default();
        *times += 1;
        let mut suffix = *times;
        if suffix == 1 {
            return None;
        }
        loop {
            let fresh = format!("{id}_{suffix}");
            let fresh_key = CallKey::of_id(&fresh);
            if !self.times_used.contains_key(&fresh_key) {
                self.times_used.extend([(fresh_key, 0), (key, suffix)]);
                return Some(fresh);
            }
            suffix += 1;
        }
    }
}

pub(super) fn renaming(original: &str, renamed: &str) -> Repair {
    Repair::CallIdRenamed { original: shown(original), renamed: shown(renamed) }
}
