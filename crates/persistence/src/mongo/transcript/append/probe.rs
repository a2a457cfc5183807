//! Reads which messages of an append a chat already has, and decides whether the append may write.

use bson::doc;
use records::{ChatId, EventId, Scope};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{
    Lineage, Segment, Tail, known_messages, open_chat_session, with_known_messages,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::read_at::ReadAt;
use crate::mongo::transcript::locate::FoundSegment;
use crate::mongo::transcript::reader::{Direction, SealedCursor};
use crate::rules::batch::{Batch, Known, Plan};
use crate::rules::fence::check_fence;
use crate::rules::if_match::check_expected;
use crate::store::Append;

/// The result of reading a session: where its messages are, and the ids and digests of its tail.
pub(crate) struct Probe {
    pub(crate) tail: Tail,
    pub(crate) in_tail: Vec<Known>,
    lineage: Lineage,
}

impl MongoStore {
    /// Seals the tail if it is too large for another append.
    pub(crate) async fn seal_if_too_large(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        tail: &Tail,
    ) -> Result<(), Failure> {
        if tail.bytes > self.inner.sealer.bounds().hard_bytes {
            let _slot = self.inner.batcher.send_alone().await;
            self.seal_within(&scope.app_id, chat_id).await?;
        }
        Ok(())
    }

    /// Reads a session, to find out why an update did not match it.
    ///
    /// An update that matches nothing also waits for the majority, and this read uses majority read concern. So
    /// the result cannot be rolled back, and the answer may depend on it.
    pub(crate) async fn probe_session(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Probe, Failure> {
        let projection = with_known_messages(Lineage::add_to_projection(Tail::projection()));
        let raw = self.session_within(scope, chat_id, projection).await?;
        let fields = open_chat_session(&raw)?;
        let tail = Tail::read(&fields)?;
        let in_tail = known_messages(&fields, tail.first_sequence)?;
        Ok(Probe { tail, in_tail, lineage: Lineage::read(chat_id, &fields)? })
    }

    /// Probes a session, and finds the messages of its chat with these ids. The result contains more messages.
    pub(crate) async fn find_known(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        ids: Vec<&str>,
    ) -> Result<(Probe, Vec<Known>), Failure> {
        let mut probe = self.probe_session(scope, chat_id).await?;
        let mut known = self.find_sealed_duplicates(scope, chat_id, ids, &probe).await?;
        known.append(&mut probe.in_tail);
        Ok((probe, known))
    }

    /// Probes a session, and finds the messages of its chat with the ids of a batch.
    pub(crate) async fn known_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        batch: &Batch,
    ) -> Result<(Probe, Vec<Known>), Failure> {
        self.find_known(scope, chat_id, batch.event_ids().map(EventId::as_str).collect()).await
    }

    /// Finds sealed messages with these ids, after a probe of the session.
    ///
    /// It first reads and remembers the ids of all sealed messages, if that is likely to save enough searches.
    pub(crate) async fn find_sealed_duplicates(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        ids: Vec<&str>,
        probe: &Probe,
    ) -> Result<Vec<Known>, Failure> {
        let sealed_below = probe.tail.first_sequence;
        let remembered = &self.inner.chat_cache;
        if remembered.recall(chat_id, &[]).below < sealed_below
            && remembered.is_worth_reading(chat_id, sealed_below)
        {
            let sealed = self.sealed_event_ids(scope, &probe.lineage, sealed_below).await?;
            remembered.learn(chat_id, 0, sealed.iter().map(EventId::as_str));
        }
        let in_tail = probe.in_tail.iter().map(|known| known.event_id.as_str());
        remembered.learn(chat_id, sealed_below, in_tail);
        let recall = remembered.recall(chat_id, &ids);
        if sealed_below == 0 || recall.below >= sealed_below && !recall.may_hold {
            return Ok(Vec::new());
        }
        self.known_in_segments(scope, &probe.lineage, ids, sealed_below).await
    }

    /// Reads the ids of all messages sealed below a sequence, in order.
    async fn sealed_event_ids(
        &self,
        scope: &Scope,
        lineage: &Lineage,
        sealed_below: u64,
    ) -> Result<Vec<EventId>, Failure> {
        let direction = Direction::OldestFirst;
        let mut cursor = SealedCursor::new(lineage.clone(), 0..sealed_below, direction);
        let mut ids = Vec::new();
        while !cursor.is_done() {
            let (mut at, bytes) = (ReadAt::Latest, u64::MAX);
            let projection = doc! { "messages.event_id": 1, "schema_version": 1 };
            let fetching = self.fetch_segments(&mut at, scope, &cursor, bytes, Some(projection));
            let fetched = fetching.await?;
            let run = cursor.advance(&fetched)?;
            if run.is_empty() {
                // An edit is splitting a segment. The ids that were read so far are correct.
                break;
            }
            for message in run {
                ids.push(message.event_id()?);
            }
        }
        Ok(ids)
    }

    /// Finds the messages with these ids that are sealed below a sequence. The result contains all messages of
    /// their segments.
    async fn known_in_segments(
        &self,
        scope: &Scope,
        lineage: &Lineage,
        ids: Vec<&str>,
        sealed_below: u64,
    ) -> Result<Vec<Known>, Failure> {
        let projection = with_known_messages(doc! { "schema_version": 1 });
        let found = self.segments_with_ids(scope, lineage, ids, sealed_below, projection).await?;
        let mut known = Vec::new();
        for FoundSegment { owner, raw, end } in &found {
            let (first_sequence, fields) = Segment::open(owner, raw)?;
            let messages = known_messages(&fields, first_sequence)?;
            known.extend(messages.into_iter().filter(|known| known.sequence < *end));
        }
        Ok(known)
    }
}

/// Answers an append that has no new messages or must be refused. Returns `None` if it must be written.
pub(crate) fn answer_without_write(
    scope: &Scope,
    chat_id: &ChatId,
    plan: &Plan<'_>,
    tail: &Tail,
) -> Option<Result<Append, StoreError>> {
    if plan.fresh().next().is_none() {
        return Some(Ok(plan.answer(tail.last_sequence, tail.last_sequence)));
    }
    refusal(scope, chat_id, tail).map(Err)
}

/// Returns the error if the chat accepts no new messages from this caller: it has ended, the fencing token is invalid, or
/// it has another number of messages than the caller expects.
pub(crate) fn refusal(scope: &Scope, chat_id: &ChatId, tail: &Tail) -> Option<StoreError> {
    if tail.status.is_ended() {
        let (chat_id, status) = (chat_id.clone(), tail.status);
        return Some(StoreError::ChatEnded { chat_id, status });
    }
    check_fence(chat_id, scope.fencing_token, tail.fencing_token)
        .and_then(|()| check_expected(scope, chat_id, tail.last_sequence))
        .err()
}
