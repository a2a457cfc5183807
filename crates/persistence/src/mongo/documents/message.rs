use bson::raw::cstr;
use bson::{DateTime, Document, RawArray, RawBsonRef, RawDocumentBuf, rawdoc};
use chrono::{DateTime as Time, Utc};
use records::json::Salt;
use records::{Author, Message, MessageBody};

use crate::StoreError;
use crate::integrity::Tag;
use crate::mongo::documents::fields::Fields;
use crate::mongo::engine::json::{append, key, to_raw_document};
use crate::rules::batch::{ChangedMessage, Entry, Known};
use crate::rules::stored_digest::StoredDigest;

/// The estimated size, in bytes, of a stored message without its body: ids, times, digest and keys.
pub(crate) const MESSAGE_OVERHEAD: usize = 192;

/// A stored message.
#[derive(Debug, Clone)]
pub(crate) struct StoredMessage {
    pub(crate) message: Message,
    /// The digest of the body that was appended; edits do not change it.
    pub(crate) digest: StoredDigest,
    /// The size, in bytes, that counts towards the limits of tails, segments and pages.
    pub(crate) bytes: u64,
    /// Missing in what was written without a key, or by an earlier release.
    pub(crate) tagged: Option<Tagged>,
}

/// Tells what a service has written from what was written in the database (decision 0075).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tagged {
    /// How often the message was changed; 0 as it was appended.
    pub(crate) changes: u32,
    pub(crate) tag: Tag,
}

/// Creates the document of a new message.
pub(crate) fn message_document(
    entry: &Entry,
    digest: &StoredDigest,
    now: Time<Utc>,
    tag: Option<Tag>,
) -> RawDocumentBuf {
    let bytes = entry.bytes + MESSAGE_OVERHEAD;
    let mut document = body_document(entry.event_id.as_str(), &entry.body);
    append_author(&mut document, entry.author.as_ref());
    finish(&mut document, digest, bytes as u64, now);
    append_tag(&mut document, tag.map(|tag| Tagged { changes: 0, tag }));
    document
}

fn body_document(event_id: &str, body: &MessageBody) -> RawDocumentBuf {
    let mut document = rawdoc! { "event_id": event_id, "role": body.role.as_str() };
    if let Some(name) = &body.name {
        document.append(cstr!("name"), name.as_str());
    }
    append(&mut document, cstr!("content"), &body.content);
    if let Some(timestamp) = &body.timestamp {
        document.append(cstr!("timestamp"), timestamp.as_str());
    }
    if let Some(metadata) = &body.metadata {
        document.append(cstr!("metadata"), to_raw_document(metadata));
    }
    for (name, value) in &body.extra {
        append(&mut document, key(name), value);
    }
    document
}

fn append_author(document: &mut RawDocumentBuf, author: Option<&Author>) {
    let Some(author) = author else { return };
    let mut stored = rawdoc! { "user_id": author.user_id.as_str() };
    if let Some(display_name) = &author.display_name {
        stored.append(cstr!("display_name"), display_name.as_str());
    }
    document.append(cstr!("author"), stored);
}

fn read_author(fields: &Fields<'_>) -> Result<Author, StoreError> {
    let display_name = fields.field("display_name")?.optional_parsed()?;
    Ok(Author { user_id: fields.parsed("user_id")?, display_name })
}

/// A message as it was appended has only the tag, because most messages stay so.
fn append_tag(document: &mut RawDocumentBuf, tagged: Option<Tagged>) {
    match tagged {
        None => {}
        Some(Tagged { changes: 0, tag }) => document.append(cstr!("tag"), super::binary(&tag)),
        Some(Tagged { changes, tag }) => {
            let change = rawdoc! { "number": i64::from(changes), "tag": super::binary(&tag) };
            document.append(cstr!("change"), change);
        }
    }
}

fn read_change(fields: &Fields<'_>) -> Result<Tagged, StoreError> {
    let changes = u32::try_from(fields.count("number")?).unwrap_or(u32::MAX);
    Ok(Tagged { changes, tag: fields.bytes("tag")? })
}

fn finish(document: &mut RawDocumentBuf, digest: &StoredDigest, bytes: u64, created_at: Time<Utc>) {
    if let Some(salt) = &digest.salt {
        document.append(cstr!("salt"), super::binary(salt));
    }
    document.append(cstr!("digest"), super::binary(&digest.digest));
    document.append(cstr!("bytes"), super::counter(bytes));
    document.append(cstr!("created_at"), DateTime::from_chrono(created_at));
}

impl StoredMessage {
    /// Reads a message. Its position gives its sequence, which is not stored.
    pub(crate) fn read(sequence: u64, fields: &Fields<'_>) -> Result<Self, StoreError> {
        let mut body = MessageBody::default();
        let (mut event_id, mut role, mut digest, mut bytes) = (None, None, None, None);
        let (mut author, mut salt, mut tagged) = (None, None, None);
        let (mut created_at, mut edited_at, mut deleted_at) = (None, None, None);
        let (mut edited_by, mut deleted_by) = (None, None);
        for field in fields.each() {
            let field = field?;
            match field.name() {
                "event_id" => event_id = Some(field.parsed()?),
                "role" => role = field.optional_string()?,
                "name" => body.name = field.optional_string()?,
                "content" => body.content = field.value()?,
                "timestamp" => body.timestamp = field.optional_string()?,
                "metadata" => body.metadata = field.optional_object()?,
                "author" => {
                    let stored = field.optional_document()?.map(|author| fields.inside(author));
                    author = stored.as_ref().map(read_author).transpose()?;
                }
                "salt" => salt = Some(field.bytes()?),
                "tag" => tagged = Some(Tagged { changes: 0, tag: field.bytes()? }),
                "change" => tagged = Some(read_change(&fields.inside(field.document()?))?),
                "digest" => digest = Some(field.bytes()?),
                "bytes" => bytes = Some(field.number()?),
                "created_at" => created_at = Some(field.time()?),
                "edited_at" => edited_at = field.optional_time()?,
                "edited_by" => edited_by = field.optional_parsed()?,
                "deleted_at" => deleted_at = field.optional_time()?,
                "deleted_by" => deleted_by = field.optional_parsed()?,
                name if MessageBody::EXTRA.contains(&name) => {
                    body.extra.insert(name.to_owned(), field.value()?);
                }
                _ => {}
            }
        }
        body.role = fields.required("role", role)?;
        let event_id = fields.required("event_id", event_id)?;
        let created_at = fields.required("created_at", created_at)?;
        let message = Message {
            sequence,
            event_id,
            body,
            author,
            created_at,
            edited_at,
            edited_by,
            deleted_at,
            deleted_by,
            is_text_kept: false,
        };
        let digest = StoredDigest { digest: fields.required("digest", digest)?, salt };
        Ok(Self { message, digest, bytes: fields.required("bytes", bytes)?, tagged })
    }

    /// Sets the size to that of the message as it is after an edit.
    pub(crate) fn measure(&mut self) -> Result<(), StoreError> {
        let Message { body, edited_by, deleted_by, .. } = &self.message;
        let editors: usize =
            [edited_by, deleted_by].into_iter().flatten().map(|it| it.as_str().len()).sum();
        self.bytes = (body.check_stored()? + MESSAGE_OVERHEAD + editors) as u64;
        Ok(())
    }

    /// Creates the document of the message after an edit.
    pub(crate) fn document(&self) -> RawDocumentBuf {
        let message = &self.message;
        let mut document = body_document(message.event_id.as_str(), &message.body);
        append_author(&mut document, message.author.as_ref());
        finish(&mut document, &self.digest, self.bytes, message.created_at);
        if let Some(edited_at) = message.edited_at {
            document.append(cstr!("edited_at"), DateTime::from_chrono(edited_at));
        }
        if let Some(edited_by) = &message.edited_by {
            document.append(cstr!("edited_by"), edited_by.as_str());
        }
        if let Some(deleted_at) = message.deleted_at {
            document.append(cstr!("deleted_at"), DateTime::from_chrono(deleted_at));
        }
        if let Some(deleted_by) = &message.deleted_by {
            document.append(cstr!("deleted_by"), deleted_by.as_str());
        }
        append_tag(&mut document, self.tagged);
        document
    }
}

/// Adds what [`known_messages`] reads of each message to a projection.
pub(crate) fn with_known_messages(mut projection: Document) -> Document {
    for field in ["event_id", "salt", "digest", "author", "edited_at", "deleted_at"] {
        projection.insert(format!("messages.{field}"), 1);
    }
    projection
}

/// Returns whether one of some stored messages has a salt.
pub(crate) fn has_salt(messages: &RawArray) -> bool {
    let has_salt = |message: RawBsonRef<'_>| {
        message.as_document().is_some_and(|message| matches!(message.get("salt"), Ok(Some(_))))
    };
    messages.into_iter().flatten().any(has_salt)
}

/// Reads the salt beside a digest, if there is one.
pub(super) fn read_salt(fields: &Fields<'_>) -> Result<Option<Salt>, StoreError> {
    let salt = fields.field("salt")?;
    if salt.is_null() { Ok(None) } else { salt.bytes().map(Some) }
}

/// Reads the ids and digests of messages, by which an append recognises duplicates. The projection may
/// exclude all other fields.
pub(crate) fn known_messages(
    fields: &Fields<'_>,
    first_sequence: u64,
) -> Result<Vec<Known>, StoreError> {
    let known = |(sequence, fields): (u64, Result<Fields<'_>, StoreError>)| {
        let fields = fields?;
        let is_deleted = !fields.field("deleted_at")?.is_null();
        let is_changed = is_deleted || !fields.field("edited_at")?.is_null();
        let author = fields.optional_document("author")?.map(|author| fields.inside(author));
        let author = author.as_ref().map(read_author).transpose()?;
        let changed = ChangedMessage { author: author.map(|author| author.user_id), is_deleted };
        Ok(Known {
            event_id: fields.parsed("event_id")?,
            sequence,
            digest: StoredDigest { digest: fields.bytes("digest")?, salt: read_salt(&fields)? },
            is_ours: false,
            changed: is_changed.then_some(changed),
        })
    };
    (first_sequence..).zip(fields.documents("messages")?).map(known).collect()
}
