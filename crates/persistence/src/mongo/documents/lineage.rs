use std::ops::Range;

use bson::{Document, doc};
use records::ChatId;
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::mongo::documents::counter;
use crate::mongo::documents::fields::Fields;

/// A chat whose sealed messages a fork shares, as the fork stores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Base {
    pub(crate) chat_id: ChatId,
    /// The messages below this sequence are shared, including those of earlier bases.
    pub(crate) below: u64,
    /// The revision of the chat when it was forked. Later edits are not shared.
    pub(crate) revision: i64,
}

/// Which sealed messages a chat shares with which other chats.
#[derive(Debug, Clone)]
pub(crate) struct Lineage {
    chat_id: ChatId,
    /// The chats whose messages this chat shares, oldest first.
    bases: Vec<Base>,
    /// Forks of this chat share its messages below this sequence.
    shared_below: Option<u64>,
    /// The revision when the chat was last forked.
    shared_revision: Option<i64>,
    revision: i64,
}

impl Lineage {
    /// Returns the projection that [`read`](Self::read) needs.
    pub(crate) fn projection() -> Document {
        Self::add_to_projection(doc! { "revision": 1, "schema_version": 1 })
    }

    /// Adds the fields that [`read`](Self::read) needs to the projection of a tail.
    pub(crate) fn add_to_projection(mut projection: Document) -> Document {
        projection.extend(doc! { "bases": 1, "shared_below": 1, "shared_revision": 1 });
        projection
    }

    /// Reads the lineage from a session document.
    pub(crate) fn read(chat_id: &ChatId, fields: &Fields<'_>) -> Result<Self, StoreError> {
        let mut bases = Vec::new();
        if !fields.field("bases")?.is_null() {
            for base in fields.documents("bases")? {
                bases.push(base?.read()?);
            }
        }
        Ok(Self {
            chat_id: chat_id.clone(),
            bases,
            shared_below: fields.field("shared_below")?.optional_number()?,
            shared_revision: fields.field("shared_revision")?.optional_number()?,
            revision: fields.integer("revision")?,
        })
    }

    /// Returns the sequence below which the messages are in segments of other chats.
    pub(crate) fn inherited_below(&self) -> u64 {
        self.bases.last().map_or(0, |base| base.below)
    }

    /// Returns the id of the chat itself.
    pub(crate) fn chat_id(&self) -> &ChatId {
        &self.chat_id
    }

    /// Returns what this chat shares, the oldest first.
    pub(crate) fn bases(&self) -> &[Base] {
        &self.bases
    }

    /// Returns the chats whose messages this chat shares.
    pub(crate) fn base_chats(&self) -> impl Iterator<Item = &ChatId> {
        self.bases.iter().map(|base| &base.chat_id)
    }

    /// Returns what this chat shares of another one.
    pub(crate) fn bases_in(&self, chat_id: &ChatId) -> impl Iterator<Item = &Base> {
        self.bases.iter().filter(move |base| base.chat_id == *chat_id)
    }

    /// Returns the revision after the next edit.
    pub(crate) fn next_revision(&self) -> i64 {
        self.revision + 1
    }

    /// Returns whether the chat shares any messages.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared_below() > 0
    }

    /// Returns the chat whose segments hold a sealed message.
    pub(crate) fn owner(&self, sequence: u64) -> &ChatId {
        let base = self.bases.iter().find(|base| sequence < base.below);
        base.map_or(&self.chat_id, |base| &base.chat_id)
    }

    /// Returns the sequence below which messages are shared. No edit writes their segments.
    pub(crate) fn shared_below(&self) -> u64 {
        self.inherited_below().max(self.shared_below.unwrap_or(0))
    }

    /// Returns whether no fork can see an overlay of this revision, so that it may be deleted.
    pub(crate) fn is_unshared(&self, revision: i64) -> bool {
        self.shared_revision.is_none_or(|shared| shared < revision)
    }

    /// Makes a filter match only if the chat was not forked again since this lineage was read.
    pub(crate) fn condition(&self, filter: &mut Document) {
        filter.insert("shared_below", self.shared_below.map(counter));
        filter.insert("shared_revision", self.shared_revision);
    }

    /// Splits a span of sealed messages by the chats whose segments hold them, in order.
    pub(crate) fn pieces(&self, span: Range<u64>) -> Vec<(&ChatId, Range<u64>)> {
        let mut pieces = Vec::new();
        let mut start = span.start;
        for base in &self.bases {
            let end = base.below.min(span.end);
            if start < end {
                pieces.push((&base.chat_id, start..end));
                start = end;
            }
        }
        if start < span.end {
            pieces.push((&self.chat_id, start..span.end));
        }
        pieces
    }

    /// Returns the chats that may have overlays for a span. The overlay of a later chat overrides that of an
    /// earlier one.
    pub(crate) fn editors(&self, span: &Range<u64>) -> Vec<Base> {
        let own = Base {
            chat_id: self.chat_id.clone(),
            below: self.shared_below(),
            // All edits of the chat itself are visible.
            revision: if self.revision == 0 { 0 } else { i64::MAX },
        };
        let editors = self.bases.iter().cloned().chain([own]);
        let cut = editors.map(|editor| Base { below: editor.below.min(span.end), ..editor });
        cut.filter(|editor| editor.revision > 0 && editor.below > span.start).collect()
    }

    /// Returns the bases of a fork that takes the messages below `sequence`. The fork shares those that are
    /// sealed, which are below `sealed_below`.
    pub(crate) fn fork_bases(&self, sequence: u64, sealed_below: u64) -> Vec<Base> {
        let own =
            Base { chat_id: self.chat_id.clone(), below: sealed_below, revision: self.revision };
        let mut bases: Vec<Base> = Vec::new();
        for base in self.bases.iter().cloned().chain([own]) {
            let base = Base { below: base.below.min(sequence), ..base };
            let before = bases.last().map_or(0, |last| last.below);
            // Skip a base that has neither messages nor overlays for the fork.
            if base.below > before || base.below > 0 && base.revision > 0 {
                bases.push(base);
            }
        }
        bases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lineage(bases: &[(&str, u64, i64)], revision: i64) -> Lineage {
        let base = |(id, below, revision): &(&str, u64, i64)| Base {
            chat_id: ChatId::parse(*id).unwrap(),
            below: *below,
            revision: *revision,
        };
        Lineage {
            chat_id: ChatId::parse("chat_own").unwrap(),
            bases: bases.iter().map(base).collect(),
            shared_below: None,
            shared_revision: None,
            revision,
        }
    }

    fn named(bases: &[Base]) -> Vec<(&str, u64, i64)> {
        bases.iter().map(|base| (base.chat_id.as_str(), base.below, base.revision)).collect()
    }

    #[test]
    fn a_span_is_split_by_chat() {
        let lineage = lineage(&[("chat_a", 10, 0), ("chat_b", 10, 2), ("chat_c", 30, 0)], 0);
        let pieces = |span| -> Vec<_> {
            let pieces = lineage.pieces(span).into_iter();
            pieces.map(|(chat_id, span)| (chat_id.to_string(), span)).collect()
        };
        let piece = |id: &str, span: Range<u64>| (id.to_owned(), span);
        assert_eq!(
            pieces(5..40),
            [piece("chat_a", 5..10), piece("chat_c", 10..30), piece("chat_own", 30..40)]
        );
        assert_eq!(pieces(12..20), [piece("chat_c", 12..20)]);
        assert_eq!(pieces(30..31), [piece("chat_own", 30..31)]);
        assert_eq!(pieces(7..7), []);
    }

    #[test]
    fn only_edited_chats_are_editors() {
        let lineage = lineage(&[("chat_a", 10, 0), ("chat_b", 10, 2), ("chat_c", 30, 4)], 1);
        assert_eq!(
            named(&lineage.editors(&(5..20))),
            [("chat_b", 10, 2), ("chat_c", 20, 4), ("chat_own", 20, i64::MAX)]
        );
        assert_eq!(named(&lineage.editors(&(30..40))), []);
    }

    #[test]
    fn a_fork_has_a_base_for_each_chat_with_messages_or_overlays() {
        let edited = lineage(&[("chat_a", 10, 0), ("chat_b", 20, 2)], 3);
        assert_eq!(
            named(&edited.fork_bases(40, 30)),
            [("chat_a", 10, 0), ("chat_b", 20, 2), ("chat_own", 30, 3)]
        );
        assert_eq!(
            named(&edited.fork_bases(5, 5)),
            [("chat_a", 5, 0), ("chat_b", 5, 2), ("chat_own", 5, 3)]
        );
        let untouched = lineage(&[("chat_a", 10, 0)], 0);
        assert_eq!(named(&untouched.fork_bases(20, 10)), [("chat_a", 10, 0)]);
        assert_eq!(named(&untouched.fork_bases(0, 0)), []);
    }
}
