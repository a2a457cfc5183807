use std::collections::{HashMap, HashSet};
use std::iter;

use super::draft::Draft;
use super::role::Role;
use crate::dialect::Rendered;
use crate::{DropReason, Repair};

/// Keeps calls that are answered directly, and their answers; drops and reports the others.
pub(super) fn settle(drafts: Vec<Draft>, rendered: &mut Rendered) -> Vec<Draft> {
    let mut pairing =
        Pairing { settled: Vec::with_capacity(drafts.len()), called: HashSet::new(), rendered };
    let mut rest = drafts.into_iter().peekable();
    loop {
        let said = rest.next_if(|draft| draft.role != Role::Tool);
        let answers: Vec<_> =
            iter::from_fn(|| rest.next_if(|draft| draft.role == Role::Tool)).collect();
        if said.is_none() && answers.is_empty() {
            return pairing.settled;
        }
        pairing.add(said, answers);
    }
}

struct Pairing<'a> {
    settled: Vec<Draft>,
    /// The id of every call so far, kept or not.
    called: HashSet<String>,
    rendered: &'a mut Rendered,
}

impl Pairing<'_> {
    /// Adds a message and the results that follow directly on it.
    fn add(&mut self, said: Option<Draft>, answers: Vec<Draft>) {
        let ids = said.as_ref().map(called_ids).unwrap_or_default();
        let answered: HashSet<_> = answers.iter().map(|answer| answer.call_id.as_str()).collect();
        let complete = said.as_ref().is_none_or(|draft| draft.malformed.is_none())
            && ids.iter().all(|id| answered.contains(id.as_str()));
        match said {
            Some(draft) if !complete => match draft.without_calls() {
                Ok(draft) => self.settled.push(draft),
                Err((origin, reason)) => self.rendered.drop(origin, reason),
            },
            said => self.settled.extend(said),
        }
        let mut open = if complete { ids.clone() } else { HashSet::new() };
        for answer in answers {
            if open.remove(&answer.call_id) {
                self.settled.push(answer);
                continue;
            }
            let reason = self.objection(answer.call_id, &ids, complete);
            self.rendered.drop(answer.origin, reason);
        }
        self.called.extend(ids);
    }

    /// Says why a result is left out, given the calls of the message it follows on.
    fn objection(&self, call_id: String, ids: &HashSet<String>, complete: bool) -> DropReason {
        match (ids.contains(&call_id), complete) {
            (true, true) => DropReason::DuplicateResult { call_id },
            (true, false) => DropReason::CallRemoved { call_id },
            (false, _) if self.called.contains(&call_id) => DropReason::LateResult { call_id },
            (false, _) => DropReason::OrphanResult { call_id },
        }
    }
}

fn called_ids(draft: &Draft) -> HashSet<String> {
    let malformed = draft.malformed.iter().flat_map(|malformed| &malformed.ids);
    draft.calls.iter().map(|call| &call.id).chain(malformed).cloned().collect()
}

/// Gives a call whose id an earlier message used a new id, and its result too.
pub(super) fn rename_repeated_ids(settled: &mut [Draft]) {
    let mut taken: HashSet<String> =
        settled.iter().flat_map(|draft| &draft.calls).map(|call| call.id.clone()).collect();
    let mut times_used: HashMap<String, usize> = HashMap::new();
    let mut renamed = HashMap::new();
    for draft in settled {
        if draft.role != Role::Tool {
            renamed.clear();
        }
        for call in &mut draft.calls {
            let times = times_used.entry(call.id.clone()).or_default();
            *times += 1;
            if *times > 1 {
                let fresh = fresh_id(&call.id, times, &mut taken);
                draft.repairs.push(renaming(&call.id, &fresh));
                renamed.insert(std::mem::replace(&mut call.id, fresh.clone()), fresh);
            }
        }
        if let Some(fresh) = renamed.get(&draft.call_id) {
            draft.repairs.push(renaming(&draft.call_id, fresh));
            draft.call_id.clone_from(fresh);
        }
    }
}

/// Returns the id with the first suffix, from `suffix` on, that gives an id nobody has taken.
fn fresh_id(id: &str, suffix: &mut usize, taken: &mut HashSet<String>) -> String {
    loop {
        let fresh = format!("{id}_{suffix}");
        if taken.insert(fresh.clone()) {
            return fresh;
        }
        *suffix += 1;
    }
}

fn renaming(original: &str, renamed: &str) -> Repair {
    Repair::CallIdRenamed { original: original.to_owned(), renamed: renamed.to_owned() }
}
