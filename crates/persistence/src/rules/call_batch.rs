//! A checked batch of provider calls to record, and the plan of which calls are new.

use chrono::{DateTime, Utc};
use records::json::Digest;
use records::{
    CallId, ChatId, Ids, Invalid, Item, Limits, NewProviderCall, ProviderCall, SizeLimit,
};

use crate::StoreError;
use crate::rules::repeats::{Compared, Repeatable, compare, contradiction};
use crate::store::RecordedCall;

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

impl Repeatable for DigestedCall {
    type Id = CallId;

    fn id(&self) -> &CallId {
        &self.call.call_id
    }

    fn repeats(&self, earlier: &Self) -> bool {
        self.digest == earlier.digest
    }
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
        let checked = calls.into_iter().enumerate().map(|(index, call)| {
            DigestedCall::check(call, now, ids).map_err(|e| e.below(Item::Call(index)))
        });
        let checked: Vec<DigestedCall> = checked.collect::<Result<_, _>>()?;
        if let Some((first, index)) = contradiction(&checked) {
            let detail = format!("repeats the id of call {first} of the batch with another body");
            return Err(Invalid::value("/call_id", detail).below(Item::Call(index)));
        }
        Ok(Self { calls: checked })
    }

    /// Returns a batch of one call.
    pub(crate) fn of(call: DigestedCall) -> Self {
        Self { calls: vec![call] }
    }

    /// Returns the ids of the calls.
    pub(crate) fn call_ids(&self) -> impl Iterator<Item = &CallId> {
        self.calls.iter().map(Repeatable::id)
    }

    /// Splits the batch into the calls to record and the answer for all calls. A known call with
    /// another body refuses the whole batch.
    pub(crate) fn plan(
        &self,
        chat_id: &ChatId,
        known: &[DigestedCall],
    ) -> Result<(Vec<&DigestedCall>, Vec<RecordedCall>), StoreError> {
        let compared = compare(&self.calls, known).map_err(|index| {
            let call_id = self.calls[index].call.call_id.clone();
            StoreError::CallConflict { chat_id: chat_id.clone(), call_id, index }
        });
        let Compared { fresh, answers } = compared?;
        let answers = answers
            .into_iter()
            .map(|(kept, outcome)| RecordedCall { call: kept.call.clone(), outcome });
        Ok((fresh, answers.collect()))
    }
}
