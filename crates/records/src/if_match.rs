use crate::Message;

/// What a caller has seen of a record: a write is refused if the record differs by then (`If-Match`, RFC 9110).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IfMatch {
    /// The record exists.
    Any,
    /// The record has one of these entity tags.
    Tags(Vec<String>),
}

impl IfMatch {
    /// Returns whether a record with this entity tag is what the caller has seen.
    pub fn accepts(&self, tag: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Tags(tags) => tags.iter().any(|seen| seen == tag),
        }
    }

    /// Returns the versions that the caller has seen, of a record whose entity tag is its version; `None` for any.
    pub fn versions(&self) -> Option<Vec<u64>> {
        match self {
            Self::Any => None,
            Self::Tags(tags) => Some(tags.iter().filter_map(|tag| tag.parse().ok()).collect()),
        }
    }
}

impl Message {
    /// Returns the entity tag of the message, which changes with every edit.
    pub fn entity_tag(&self) -> String {
        let millis =
            |at: Option<chrono::DateTime<chrono::Utc>>| at.map_or(0, |at| at.timestamp_millis());
        let (edited, deleted) = (millis(self.edited_at), millis(self.deleted_at));
        format!("{:x}-{edited}-{deleted}", u128::from_be_bytes(self.body.digest()))
    }
}
