//! The push of many messages at once: straight into segments, so that they are written only once.

use bson::{DateTime, Document, RawDocument, RawDocumentBuf, doc};
use mongodb::ClientSession;
use mongodb::error::{Error, TRANSIENT_TRANSACTION_ERROR};
use mongodb::options::Hint;
use records::{ChatId, Scope};

use super::push::Push;
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{SegmentHead, Tail, counter, open_chat_session, segment_document};
use crate::mongo::failure::{Failure, code, is_duplicate_key};
use crate::mongo::fields::Fields;

impl MongoStore {
    /// Moves the tail and the new messages into segments and leaves the tail empty, in one
    /// transaction, so that there is never a segment of messages that were not appended.
    ///
    /// Where another writer is in the way, the messages go to the tail: there the server waits.
    pub(super) async fn push_sealed(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        filter: Document,
        push: &Push,
    ) -> Result<Option<Tail>, Failure> {
        let mut session = self.inner.database.client().start_session().await?;
        session.start_transaction().await?;
        let seal = self.seal_with(scope, chat_id, filter.clone(), push, &mut session).await;
        if let Ok(Some(tail)) = seal {
            session.commit_transaction().await?;
            return Ok(Some(tail));
        }
        session.abort_transaction().await?;
        match seal {
            Err(Failure::Driver(error)) if is_no_place_for_a_transaction(&error) => {
                self.push_to_tail(filter, push).await
            }
            failed_or_not_there => failed_or_not_there,
        }
    }

    /// Does so within a transaction; returns the tail that this leaves.
    async fn seal_with(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        filter: Document,
        push: &Push,
        session: &mut ClientSession,
    ) -> Result<Option<Tail>, Failure> {
        let Some(before) = self.take_tail(filter, push, session).await? else {
            return Ok(None);
        };
        let fields = open_chat_session(&before)?;
        let tail = Tail::read(&fields)?;
        let segments = self.segments(scope, chat_id, &fields, &tail, push)?;
        self.insert_segments(segments, session).await?;
        let last_sequence = tail.last_sequence + push.documents.len() as u64;
        Ok(Some(Tail { last_sequence, first_sequence: last_sequence, bytes: 0, ..tail }))
    }

    /// Counts the new messages and empties the tail; returns what it was.
    ///
    /// A pipeline, because one counter is set from the other; it holds nothing of the caller.
    async fn take_tail(
        &self,
        filter: Document,
        push: &Push,
        session: &mut ClientSession,
    ) -> Result<Option<RawDocumentBuf>, Failure> {
        let last_sequence =
            doc! { "$add": ["$last_sequence", counter(push.documents.len() as u64)] };
        let update = vec![doc! { "$set": {
            "messages": [],
            "tail_bytes": 0_i64,
            "first_sequence": last_sequence.clone(),
            "last_sequence": last_sequence,
            "last_updated_at": DateTime::from_chrono(push.now),
        } }];
        let sessions = &self.inner.chat_sessions;
        let taking = sessions.find_one_and_update(filter, update).session(session);
        let taking = taking.projection(Tail::with_messages());
        Ok(taking.hint(Hint::Name("_id_".to_owned())).await?)
    }

    /// Makes segments of what lay in the tail and of the new messages.
    fn segments(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fields: &Fields<'_>,
        tail: &Tail,
        push: &Push,
    ) -> Result<Vec<RawDocumentBuf>, StoreError> {
        let in_tail = fields.documents("messages")?.map(|message| Ok(message?.raw()));
        let fresh = push.documents.iter().map(|document| Ok(document.as_ref()));
        let messages: Vec<&RawDocument> =
            in_tail.chain(fresh).collect::<Result<_, StoreError>>()?;
        let segment_bytes = self.inner.sealer.bounds().segment_bytes;
        let mut first_sequence = tail.first_sequence;
        let mut segments = Vec::new();
        for run in runs(&messages, segment_bytes) {
            let head = SegmentHead { first_sequence, revision: tail.revision, edits: 0 };
            segments.push(segment_document(&scope.app_id, chat_id, &head, run.iter().copied()));
            first_sequence += run.len() as u64;
        }
        Ok(segments)
    }

    /// Inserts segments, the first in the place of one that a sealing may have left unfinished.
    ///
    /// Such a one begins where the tail began; what it was to be cut from is gone.
    async fn insert_segments(
        &self,
        mut segments: Vec<RawDocumentBuf>,
        session: &mut ClientSession,
    ) -> Result<(), Failure> {
        let collection = &self.inner.chat_segments;
        let first = segments.remove(0);
        let id = first.get_document("_id").map_err(Error::from)?;
        let place = doc! { "_id": Document::try_from(id).map_err(Error::from)? };
        collection.replace_one(place, first).upsert(true).session(&mut *session).await?;
        if !segments.is_empty() {
            collection.insert_many(segments).session(session).await?;
        }
        Ok(())
    }
}

/// Another writer is in the way, or the server is none of a replica set.
fn is_no_place_for_a_transaction(error: &Error) -> bool {
    const ILLEGAL_OPERATION: i32 = 20;
    error.contains_label(TRANSIENT_TRANSACTION_ERROR)
        || is_duplicate_key(error)
        || code(error) == Some(ILLEGAL_OPERATION)
}

/// Cuts messages into runs of at most so many bytes, a message at least.
fn runs<'a, 'm>(
    messages: &'a [&'m RawDocument],
    bytes: u64,
) -> impl Iterator<Item = &'a [&'m RawDocument]> {
    let mut rest = messages;
    std::iter::from_fn(move || {
        let mut taken = 0;
        let mut sum = 0;
        for message in rest {
            sum += message.as_bytes().len() as u64;
            if sum > bytes && taken > 0 {
                break;
            }
            taken += 1;
        }
        let (run, left) = rest.split_at(taken);
        rest = left;
        (taken > 0).then_some(run)
    })
}
