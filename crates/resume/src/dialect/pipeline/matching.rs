use std::collections::{HashMap, HashSet, VecDeque};
use std::mem;

use serde_json::Value;

use super::rules::ResultNames;
use crate::calls::CallKey;
use crate::canonical::{CanonicalMessage, ResultName, Role};
use crate::dropped::shorten;
use crate::rendered::Origin;
use crate::{DropReason, Repair, UnsettledPolicy};

/// Matches each result with its call, within the exchange of the message that makes the call.
///
/// Providers accept a message with calls only if the next messages answer all of them, and nothing
/// else. So a result is accepted only within the exchange of its call; the renderer holds the exchange open for results
/// that come later.
#[derive(Debug)]
pub(super) struct ResultMatcher {
    policy: Option<UnsettledPolicy>,
    exchange: Exchange,
    result_names: ResultNames,
    /// Every call before this exchange, rendered or not; only needed to report why a result is dropped.
    earlier_calls: HashSet<CallKey>,
    /// Those of them that were removed.
    removed_calls: HashSet<CallKey>,
}

/// A message that is not a result, and its results.
#[derive(Debug, Default)]
struct Exchange {
    /// The message; `None` before the first one.
    caller: Option<Origin>,
    /// The speaker of the message.
    speaker: Option<String>,
    /// The id of every call that the message makes.
    ids: HashSet<String>,
    /// The rendered calls that have no result so far, by the ids with which results name them.
    open: HashMap<String, VecDeque<OpenCall>>,
    /// The new ids of renamed calls, and the repairs that report them.
    renamed: HashMap<String, (String, Repair)>,
    decision: CallDecision,
    /// Whether the results that are missing at the end come too late to be moved.
    comes_later: bool,
    /// Whether calls without results are shown as waiting.
    waits: bool,
}

/// A call that has no result so far.
#[derive(Debug)]
struct OpenCall {
    /// Its id, unique in its message.
    id: String,
    /// The name of the tool.
    tool: String,
    /// What reports the id, if results name the call differently.
    repair: Option<Repair>,
}

/// Whether the calls of a message are rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum CallDecision {
    /// They are rendered, and each must get a result.
    #[default]
    Keep,
    /// They are removed, and so are their results.
    Remove,
}

/// The content of the result that is added for an interrupted call.
pub(crate) const INTERRUPTED_RESULT: &str = "The call was interrupted: there is no result.";

/// The content of the result that replaces one that comes too late to be moved.
const LATER_RESULT: &str = "The call was answered later in the conversation.";

impl ResultMatcher {
    pub(super) fn new(policy: Option<UnsettledPolicy>, result_names: ResultNames) -> Self {
        Self {
            policy,
            exchange: Exchange::default(),
            result_names,
            earlier_calls: HashSet::new(),
            removed_calls: HashSet::new(),
        }
    }

    /// Begins the exchange of a message; the caller must have ended the previous exchange.
    pub(super) fn begin(&mut self, caller: &CanonicalMessage, decision: CallDecision) {
        let ids: HashSet<_> = caller.called_ids().map(str::to_owned).collect();
        // Removed calls are never open, so that their results are dropped with them.
        let mut open: HashMap<_, VecDeque<_>> = HashMap::new();
        for call in caller.calls.iter().filter(|_| decision == CallDecision::Keep) {
            let repair = (call.id != call.stored_id).then(|| call.renamed());
            let queue = open.entry(call.stored_id.clone()).or_default();
            let (id, tool) = (call.id.clone(), call.target.name.clone());
            queue.push_back(OpenCall { id, tool, repair });
        }
        let speaker = caller.name.as_ref().filter(|_| !open.is_empty()).cloned();
        let caller = Some(caller.origin);
        self.exchange = Exchange { caller, speaker, ids, open, decision, ..Exchange::default() };
    }

    /// Returns the sequence of the message whose exchange this is.
    pub(super) fn caller(&self) -> Option<u64> {
        self.exchange.caller.map(|caller| caller.sequence)
    }

    /// Records whether the results that are missing at the end come too late to be moved.
    pub(super) fn results_come_later(&mut self, comes_later: bool) {
        self.exchange.comes_later = comes_later;
    }

    /// Records whether calls without results are shown as waiting.
    pub(super) fn results_may_lack(&mut self, waits: bool) {
        self.exchange.waits = waits;
    }

    /// Returns whether a result for this call is accepted.
    pub(super) fn is_open(&self, id: &str) -> bool {
        self.exchange.open.contains_key(id)
    }

    /// Records the new id of a call of the message.
    ///
    /// Results still name the stored id. Calls are therefore matched by their stored ids, and a
    /// result gets the new id only after it was matched.
    pub(super) fn rename(&mut self, id: String, new_id: String, repair: Repair) {
        self.exchange.renamed.insert(id, (new_id, repair));
    }

    /// Matches a result with its call; returns the reason to drop the result if no call is open for it.
    pub(super) fn accept(&mut self, result: &mut CanonicalMessage) -> Result<(), DropReason> {
        let Some(call) = self.take_open(&result.call_id) else {
            return Err(self.drop_reason(&result.call_id));
        };
        self.lower_name(result, &call.tool);
        result.repairs.extend(call.repair);
        result.call_id = call.id;
        if let Some((new_id, repair)) = self.exchange.renamed.get(&result.call_id) {
            result.repairs.push(repair.clone());
            result.call_id.clone_from(new_id);
        }
        Ok(())
    }

    /// Removes the name of a result, unless the dialect has it; reports it if neither the call nor an own field says it.
    fn lower_name(&self, result: &mut CanonicalMessage, tool: &str) {
        let Some(name) = result.result_name.take() else { return };
        if self.result_names == ResultNames::Executors && matches!(name, ResultName::Executor(_)) {
            result.result_name = Some(name);
            return;
        }
        let said = [Some(tool), self.exchange.speaker.as_deref(), own_name(result)];
        if name.as_str() != ResultName::OF_PATTERN && !said.contains(&Some(name.as_str())) {
            result.repairs.push(Repair::FieldRemoved { field: "name" });
        }
    }

    /// Takes the first open call that a result with this id answers.
    fn take_open(&mut self, id: &str) -> Option<OpenCall> {
        let calls = self.exchange.open.get_mut(id)?;
        let call = calls.pop_front();
        if calls.is_empty() {
            self.exchange.open.remove(id);
        }
        call
    }

    /// Returns why a result for this call is dropped.
    fn drop_reason(&self, id: &str) -> DropReason {
        let (call_id, exchange) = (shorten(id), &self.exchange);
        match (exchange.ids.contains(id), exchange.decision) {
            (true, CallDecision::Keep) => DropReason::DuplicateResult { call_id },
            (true, CallDecision::Remove) => DropReason::CallRemoved { call_id },
            (false, _) if self.removed_calls.contains(&CallKey::from_id(id)) => {
                DropReason::CallRemoved { call_id }
            }
            (false, _) if self.earlier_calls.contains(&CallKey::from_id(id)) => {
                DropReason::LateResult { call_id }
            }
            (false, _) => DropReason::OrphanResult { call_id },
        }
    }

    /// Ends the exchange, and returns a substitute for each missing result.
    ///
    /// The policy `Settle` keeps calls without results. Under any other policy, the scan saw a result
    /// for every kept call: a result that is missing now was deleted between the passes. The call is
    /// rendered already, so that only a substitute keeps the rendering valid.
    pub(super) fn end(&mut self) -> Vec<CanonicalMessage> {
        let Exchange { caller, ids, open, renamed, decision, comes_later, waits, .. } =
            mem::take(&mut self.exchange);
        for key in ids.iter().map(|id| CallKey::from_id(id)) {
            self.earlier_calls.insert(key);
            match decision {
                CallDecision::Keep => _ = self.removed_calls.remove(&key),
                CallDecision::Remove => _ = self.removed_calls.insert(key),
            }
        }
        let Some(caller) = caller.filter(|_| !waits || comes_later) else {
            return Vec::new();
        };
        // A hash set has no order, and renderings must be the same each time.
        let mut missing: Vec<_> = open.into_values().flatten().map(|call| call.id).collect();
        missing.sort_unstable();
        let substitute = |id: String| {
            let call_id = shorten(&id);
            let (content, repair) = match self.policy {
                _ if comes_later => (LATER_RESULT, Repair::ResultNotMoved { call_id }),
                Some(UnsettledPolicy::Settle) => {
                    (INTERRUPTED_RESULT, Repair::ResultAdded { call_id })
                }
                _ => ("null", Repair::DeletedResultReplaced { call_id }),
            };
            let mut message = CanonicalMessage::new(caller, Role::Tool, Value::from(content));
            message.is_error = !comes_later && self.policy == Some(UnsettledPolicy::Settle);
            message.repairs.push(repair);
            message.call_id = renamed.get(&id).map_or(id, |(new_id, _)| new_id.clone());
            message
        };
        missing.into_iter().map(substitute).collect()
    }
}

/// Returns the name among the own fields that are rendered.
fn own_name(result: &CanonicalMessage) -> Option<&str> {
    result.provider.get("name").and_then(Value::as_str)
}
