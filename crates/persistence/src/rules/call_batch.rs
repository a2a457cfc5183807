//! A checked batch of provider calls to record, and the plan of which calls are new.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use records::json::Digest;
use records::{
    CallId, ChatId, Ids, Invalid, Item, Limits, NewProviderCall, ProviderCall, SizeLimit,
};

use crate::StoreError;
use crate::store::{Outcome, RecordedCall};

/// Calls to record, within the limits, each with an id.
#[derive(Debug)]
pub(crate) struct CallBatch {
    calls: Vec<DigestedCall>,
}

/// A call, with the digest of the caller's input.
#[derive(Debug, Clone)]
pub(crate) struct DigestedCall {
    pub(crate) call: ProviderCall,
    pub(crate) digest: Digest,
}

impl DigestedCall {
    /// Checks a call, and completes it to the record that is stored at `now`.
    pub(crate) fn check(
        call: NewProviderCall,
        now: DateTime<Utc>,
        ids: &dyn Ids,
    ) -> Result<Self, Invalid> {
        call.check()?;
        let digest = call.digest();
        Ok(Self { call: call.kept_at(now, ids), digest })
    }
}

impl CallBatch {
    /// Checks calls against the limits, and completes them to the records that are stored at `now`.
    pub(crate) fn check(
        calls: Vec<NewProviderCall>,
        now: DateTime<Utc>,
        ids: &dyn Ids,
    ) -> Result<Self, Invalid> {
        if calls.is_empty() {
            return Err(Invalid::value("/calls", "must hold at least one call"));
        }
        if calls.len() > Limits::BATCH_CALLS {
            let limit = format!("must hold at most {} calls", Limits::BATCH_CALLS);
            return Err(Invalid::too_large(SizeLimit::Batch, "/calls", limit));
        }
        let mut digests: HashMap<CallId, (usize, Digest)> = HashMap::new();
        let mut checked = Vec::with_capacity(calls.len());
        for (index, call) in calls.into_iter().enumerate() {
            let kept = DigestedCall::check(call, now, ids);
            let DigestedCall { call, digest } = kept.map_err(|e| e.below(Item::Call(index)))?;
            let (first, known) = *digests.entry(call.call_id.clone()).or_insert((index, digest));
            if known != digest {
                let detail =
                    format!("repeats the id of call {first} of the batch with another body");
                return Err(Invalid::value("/call_id", detail).below(Item::Call(index)));
            }
            checked.push(DigestedCall { call, digest });
        }
        Ok(Self { calls: checked })
    }

    /// Returns a batch of one call.
    pub(crate) fn of(call: DigestedCall) -> Self {
        Self { calls: vec![call] }
    }

    /// Returns the ids of the calls.
    pub(crate) fn call_ids(&self) -> impl Iterator<Item = &CallId> {
        self.calls.iter().map(|kept| &kept.call.call_id)
    }

    /// Splits the batch into the calls to record and the answer for all calls. A known call with
    /// another body refuses the whole batch.
    pub(crate) fn plan(
        &self,
        chat_id: &ChatId,
        known: &[DigestedCall],
    ) -> Result<(Vec<&DigestedCall>, Vec<RecordedCall>), StoreError> {
        let mut held: HashMap<&CallId, &DigestedCall> =
            known.iter().map(|kept| (&kept.call.call_id, kept)).collect();
        let mut fresh = Vec::new();
        let mut answer = Vec::with_capacity(self.calls.len());
        for (index, new) in self.calls.iter().enumerate() {
            let call_id = &new.call.call_id;
            match held.get(call_id) {
                Some(kept) if kept.digest != new.digest => {
                    let (chat_id, call_id) = (chat_id.clone(), call_id.clone());
                    return Err(StoreError::CallConflict { chat_id, call_id, index });
                }
                Some(kept) => answer
                    .push(RecordedCall { call: kept.call.clone(), outcome: Outcome::Duplicate }),
                None => {
                    held.insert(call_id, new);
                    fresh.push(new);
                    let call = new.call.clone();
                    answer.push(RecordedCall { call, outcome: Outcome::Stored });
                }
            }
        }
        Ok((fresh, answer))
    }
}
