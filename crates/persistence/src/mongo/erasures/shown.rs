//! Finds what forks show of a person, although it is stored with the chats that they were forked from.

use std::collections::BTreeMap;

use bson::{RawDocument, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use records::{AppId, ChatId, UserId};

use super::chats::{Candidate, candidate, candidate_projection, with};
use super::messages::named_in;
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{Base, Segment, VersionKey};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::scope::chat_filter;
use crate::mongo::purges::records_filter;
use crate::store::Inherited;

/// The sealed messages that name a person, by chat. Forks of one chat share them, so a search reads them once.
pub(super) type NamedByChat = BTreeMap<ChatId, Named>;

/// Which sealed messages of a chat name a person, and which versions.
#[derive(Debug, Default)]
pub(super) struct Named {
    sequences: Vec<u64>,
    versions: Vec<VersionKey>,
}

impl Named {
    /// Returns whether a fork shows any of them, if it shares the messages from a sequence on.
    fn are_shared(&self, start: u64, base: &Base) -> bool {
        let is_shared = |it: &VersionKey| it.sequence < base.below && it.revision <= base.revision;
        self.sequences.iter().any(|it| (start..base.below).contains(it))
            || self.versions.iter().any(is_shared)
    }
}

impl MongoStore {
    /// Returns whether a fork shares sealed messages that name a person, as its source had them.
    pub(super) async fn shares_named(
        &self,
        user_id: &UserId,
        app_id: &AppId,
        chat: &Candidate,
        known: &mut NamedByChat,
    ) -> Result<bool, StoreError> {
        let mut start = 0;
        for base in chat.bases() {
            let chat_id = &base.chat_id;
            if !known.contains_key(chat_id) {
                let named = self.read(|| self.named_in_sealed(user_id, app_id, chat_id)).await?;
                known.insert(chat_id.clone(), named);
            }
            if known.get(chat_id).is_some_and(|named| named.are_shared(start, base)) {
                return Ok(true);
            }
            start = start.max(base.below);
        }
        Ok(false)
    }

    async fn named_in_sealed(
        &self,
        user_id: &UserId,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<Named, Failure> {
        let mut named = Named::default();
        let filter = with(records_filter(app_id, chat_id), named_in("messages", user_id.as_str()));
        let fields = doc! {
            "schema_version": 1, "messages.author.user_id": 1, "messages.edited_by": 1,
            "messages.deleted_by": 1,
        };
        let mut segments = self.inner.chat_segments.find(filter).projection(fields).await?;
        while let Some(raw) = segments.try_next().await? {
            let (first_sequence, fields) = Segment::open(chat_id, &raw)?;
            for (sequence, message) in (first_sequence..).zip(fields.documents("messages")?) {
                if names(message?.raw(), user_id) {
                    named.sequences.push(sequence);
                }
            }
        }
        let filter = with(records_filter(app_id, chat_id), named_in("message", user_id.as_str()));
        let versions =
            self.inner.message_versions.find(filter).projection(VersionKey::projection());
        let versions: Vec<RawDocumentBuf> = versions.await?.try_collect().await?;
        for raw in &versions {
            named.versions.push(VersionKey::read(chat_id, raw)?);
        }
        Ok(named)
    }

    /// Returns which messages a fork has taken over from chats of a person: those that an erasure of these chats removes from it.
    pub(super) async fn inherited_from(
        &self,
        user_id: &UserId,
        app_id: &AppId,
        chat: &Candidate,
    ) -> Result<Vec<Inherited>, Failure> {
        let (mut inherited, mut end) = (Vec::new(), u64::MAX);
        let mut origin = chat.forked_from.clone();
        while let Some(from) = origin {
            end = end.min(from.sequence);
            let source = self.inner.chat_sessions.find_one(chat_filter(app_id, &from.chat_id));
            let source = source.projection(candidate_projection()).await?;
            let Some(source) = source.map(|raw| candidate(&raw)).transpose()? else { break };
            let start = source.start();
            if source.user_id.as_ref() == Some(user_id) && start < end {
                inherited.push(Inherited { source: source.chat_id, span: start..end });
            }
            origin = source.forked_from;
        }
        inherited.reverse();
        Ok(inherited)
    }
}

/// Returns whether a stored message names a person.
fn names(message: &RawDocument, user_id: &UserId) -> bool {
    let author = message.get_document("author").ok();
    let author = author.and_then(|author| author.get_str("user_id").ok());
    let others = ["edited_by", "deleted_by"].map(|field| message.get_str(field).ok());
    others.into_iter().chain([author]).any(|id| id == Some(user_id.as_str()))
}
