//! Finds messages by their ids: in the tail, and through an index in the segments of every chat in the lineage.

use std::collections::HashMap;

use bson::{Document, RawDocumentBuf, doc};
use futures::TryStreamExt;
use records::{ChatId, EventId, Scope, UserId};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{Lineage, Segment, Tail, open_chat_session};
use crate::mongo::engine::failure::Failure;

/// A message of a chat, without its body.
#[derive(Debug, Clone)]
pub(crate) struct LocatedMessage {
    pub(crate) sequence: u64,
    /// The person who appended it; edits keep it.
    pub(crate) author: Option<UserId>,
}

/// The messages of a chat that have some ids.
pub(crate) struct Located {
    /// A message, if there is one, for each id, in the order of the ids.
    pub(crate) messages: Vec<Option<LocatedMessage>>,
    /// The counter of the chat.
    pub(crate) last_sequence: u64,
}

impl Located {
    /// Returns the sequences of the messages.
    pub(crate) fn sequences(&self) -> Vec<Option<u64>> {
        self.messages.iter().map(|at| at.as_ref().map(|at| at.sequence)).collect()
    }
}

/// The places of the wanted ids, `None` until their messages are found.
type Places<'a> = HashMap<&'a str, Option<LocatedMessage>>;

impl MongoStore {
    /// Finds messages by their ids.
    ///
    /// The session is read first: a message that is sealed meanwhile is found in the tail as it was.
    pub(crate) async fn locate_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        event_ids: &[EventId],
    ) -> Result<Located, StoreError> {
        self.read(|| self.locate_within(scope, chat_id, event_ids)).await
    }

    async fn locate_within(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        event_ids: &[EventId],
    ) -> Result<Located, Failure> {
        let projection = Lineage::add_to_projection(with_places(Tail::projection()));
        let raw = self.session_within(scope, chat_id, projection).await?;
        let fields = open_chat_session(&raw)?;
        let (tail, lineage) = (Tail::read(&fields)?, Lineage::read(chat_id, &fields)?);
        let mut places: Places<'_> = event_ids.iter().map(|id| (id.as_str(), None)).collect();
        add_places(&mut places, &fields, tail.first_sequence, u64::MAX)?;
        let sealed: Vec<&str> =
            places.iter().filter(|(_, at)| at.is_none()).map(|(&event_id, _)| event_id).collect();
        if tail.first_sequence > 0 && !sealed.is_empty() {
            let projection = with_places(doc! { "schema_version": 1 });
            let found = self
                .segments_with_ids(scope, &lineage, sealed, tail.first_sequence, projection)
                .await?;
            for FoundSegment { owner, raw, end } in &found {
                let (first_sequence, fields) = Segment::open(owner, raw)?;
                add_places(&mut places, &fields, first_sequence, *end)?;
            }
        }
        let place = |event_id: &EventId| places.get(event_id.as_str()).cloned().flatten();
        let messages = event_ids.iter().map(place).collect();
        Ok(Located { messages, last_sequence: tail.last_sequence })
    }

    /// Finds the segments, of those that hold the messages below a sequence, that hold messages with these ids.
    pub(crate) async fn segments_with_ids(
        &self,
        scope: &Scope,
        lineage: &Lineage,
        ids: Vec<&str>,
        sealed_below: u64,
        projection: Document,
    ) -> Result<Vec<FoundSegment>, Failure> {
        let pieces = lineage.pieces(0..sealed_below);
        let chat_ids: Vec<&str> = pieces.iter().map(|(chat_id, _)| chat_id.as_str()).collect();
        let filter = doc! {
            "app_id": scope.app_id.as_str(),
            "_id.chat_id": { "$in": chat_ids },
            "messages.event_id": { "$in": ids },
        };
        let found = self.inner.chat_segments.find(filter).projection(projection).await?;
        let found: Vec<RawDocumentBuf> = found.try_collect().await?;
        let mut segments = Vec::new();
        for raw in found {
            let id = raw.get_document("_id").and_then(|id| id.get_str("chat_id")).ok();
            let piece = pieces.iter().find(|(chat_id, _)| id == Some(chat_id.as_str()));
            let Some((owner, piece)) = piece else { continue };
            let (first_sequence, _) = Segment::open(owner, &raw)?;
            // A segment that begins at or above the tail is from an unfinished sealing.
            if piece.contains(&first_sequence) {
                let (owner, end) = ((*owner).clone(), piece.end);
                segments.push(FoundSegment { owner, raw, end });
            }
        }
        Ok(segments)
    }
}

/// A segment of a chat in the lineage.
pub(crate) struct FoundSegment {
    pub(crate) owner: ChatId,
    pub(crate) raw: RawDocumentBuf,
    /// The chat that is read has only those of its messages that are below this sequence.
    pub(crate) end: u64,
}

/// Adds what [`add_places`] reads to a projection.
fn with_places(mut projection: Document) -> Document {
    projection.insert("messages.event_id", 1);
    projection.insert("messages.author.user_id", 1);
    projection
}

/// Adds the places of wanted messages that are in a session or a segment, below a sequence.
fn add_places(
    places: &mut Places<'_>,
    fields: &Fields<'_>,
    first_sequence: u64,
    end: u64,
) -> Result<(), StoreError> {
    for (sequence, message) in (first_sequence..end).zip(fields.documents("messages")?) {
        let message = message?;
        let Some(place) = places.get_mut(message.field("event_id")?.text()?) else { continue };
        let author = message.field("author")?.optional_document()?;
        let author = author.map(|author| message.inside(author).parsed("user_id")).transpose()?;
        *place = Some(LocatedMessage { sequence, author });
    }
    Ok(())
}
