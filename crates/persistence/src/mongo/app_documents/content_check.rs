//! Compares the content of a document with what the document says of it.

use bson::Document;
use sha2::Sha256;

use super::document::{PartDocument, ReadDocument, parts_between};
use crate::rules::app_document::{begin_digest, end_digest};

/// A check of the parts of a document, which are added in order.
pub(crate) struct ContentCheck<'a> {
    stored: &'a ReadDocument,
    /// Where the next part begins.
    next: u64,
    /// The digest so far, if the document has one.
    hasher: Option<Sha256>,
}

impl<'a> ContentCheck<'a> {
    /// Begins a check.
    pub(crate) fn new(stored: &'a ReadDocument) -> Self {
        let kept = &stored.kept;
        let hasher = kept.digest.map(|_| begin_digest(&kept.head.content_type));
        Self { stored, next: 0, hasher }
    }

    /// Returns the filter for all parts of the document.
    pub(crate) fn parts(&self) -> Document {
        let head = &self.stored.kept.head;
        parts_between(&head.app_id, &head.content_id, 0, i64::MAX)
    }

    /// Adds a part. An error says what does not fit.
    pub(crate) fn add(&mut self, part: &PartDocument) -> Result<(), String> {
        let (next, offset) = (self.next, part.offset());
        if offset > next {
            return Err(format!("the bytes from {next} to {} are missing", offset - 1));
        }
        if offset < next {
            return Err(format!("a part begins at {offset}, and the one before it ends at {next}"));
        }
        if !part.is_of(&self.stored.kept.head) {
            return Err(format!(
                "the part at {offset} has another chat, owner or end than its document"
            ));
        }
        self.next += part.content.len() as u64;
        self.hash(&part.content);
        Ok(())
    }

    /// Ends the check. An error says what does not fit.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        let ReadDocument { kept, tail_from, tail, .. } = self.stored;
        if self.next != *tail_from {
            return Err(format!(
                "the parts have {} bytes, and the tail begins at {tail_from}",
                self.next
            ));
        }
        let (size, end) = (kept.head.size, tail_from + tail.len() as u64);
        if end != size {
            return Err(format!("the content has {end} bytes, and its size is {size}"));
        }
        self.hash(tail);
        if self.hasher.map(end_digest) != kept.digest {
            return Err("the digest of the content is not the one that the put stored".to_owned());
        }
        Ok(())
    }

    fn hash(&mut self, bytes: &[u8]) {
        if let Some(hasher) = &mut self.hasher {
            sha2::Digest::update(hasher, bytes);
        }
    }
}
