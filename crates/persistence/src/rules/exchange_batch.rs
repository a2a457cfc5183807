//! The checked messages and call of an exchange.

use chrono::{DateTime, Utc};
use records::{Caller, Ids, Invalid, MessageBody, NewMessage, NewProviderCall};
use serde_json::Value;

use crate::rules::batch::Batch;
use crate::rules::call_batch::{CallBatch, DigestedCall};

/// An exchange within the limits, its messages linked to its call.
#[derive(Debug)]
pub(crate) struct ExchangeBatch {
    pub(crate) messages: Batch,
    /// Exactly one call.
    pub(crate) calls: CallBatch,
}

impl ExchangeBatch {
    pub(crate) fn check(
        caller: &Caller,
        mut messages: Vec<NewMessage>,
        call: NewProviderCall,
        now: DateTime<Utc>,
        ids: &dyn Ids,
    ) -> Result<Self, Invalid> {
        let Some(call_id) = &call.call_id else {
            return Err(Invalid::value(
                "/call/call_id",
                "is missing; it makes an exchange safe to repeat",
            ));
        };
        for message in &mut messages {
            let MessageBody { role, extra, .. } = &mut message.body;
            if role == "assistant" {
                let produced_by = extra.entry(MessageBody::PRODUCED_BY);
                produced_by.or_insert_with(|| Value::from(call_id.as_str()));
            }
        }
        let call = DigestedCall::check(call, now, ids).map_err(|e| e.below("/call"))?;
        Ok(Self { messages: Batch::check(caller, messages, ids)?, calls: CallBatch::of(call) })
    }
}
