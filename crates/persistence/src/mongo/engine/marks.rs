//! Marks by which a retry recognises its own earlier write.
//!
//! Another caller may overwrite what a call has written to a session document. Therefore each such
//! write also adds the id of its call to a list of the session's last writes. If a retry finds its mark,
//! the write was applied, whatever the session contains now. The update is conditional on the
//! absence of its mark, so that a delayed attempt changes nothing.

use bson::{Document, doc};
use records::{ChatId, Scope};

use crate::mongo::MongoStore;
use crate::mongo::engine::calls::Attempt;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::scope::permitted_chat;

/// The field of a session document with the marks.
pub(crate) const RECENT_WRITES: &str = "recent_writes";

/// How many marks are kept: far more than the writes of one chat within the deadline of a call.
const KEPT_MARKS: i32 = 32;

/// Makes an update of a session add its mark, on the condition that the mark is absent.
pub(crate) fn with_mark(mark: &str, filter: &mut Document, update: &mut Document) {
    filter.insert(RECENT_WRITES, doc! { "$ne": mark });
    let push = doc! { RECENT_WRITES: { "$each": [mark], "$slice": -KEPT_MARKS } };
    match update.get_document_mut("$push") {
        Ok(pushed) => pushed.extend(push),
        Err(_) => drop(update.insert("$push", push)),
    }
}

impl MongoStore {
    /// Returns whether an earlier attempt of a call has left its mark. Fails if the chat does not exist.
    pub(crate) async fn was_written(
        &self,
        attempt: &Attempt,
        scope: &Scope,
        chat_id: &ChatId,
        mark: &str,
    ) -> Result<bool, Failure> {
        if attempt.is_first {
            return Ok(false);
        }
        let one = permitted_chat(scope, chat_id);
        let find = self.inner.chat_sessions.find_one(one);
        let found = find.projection(doc! { "_id": 1, RECENT_WRITES: 1 }).await?;
        let Some(found) = found else { return Err(self.refused_chat(scope, chat_id).await?) };
        let marks = found.get_array(RECENT_WRITES).ok();
        let mut marks = marks.into_iter().flatten().filter_map(|found| found.ok()?.as_str());
        let is_written = marks.any(|found| found == mark);
        if !is_written {
            attempt.note_nothing_applied();
        }
        Ok(is_written)
    }
}
