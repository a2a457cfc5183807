use bson::raw::cstr;
use bson::spec::BinarySubtype;
use bson::{Binary, DateTime, RawBsonRef, RawDocumentBuf, rawdoc};
use chrono::{DateTime as Time, Utc};
use records::json::Digest;
use records::{JsonObject, Message, MessageBody};

use super::super::fields::Fields;
use super::super::json::{append, key, to_raw_document};
use crate::StoreError;
use crate::batch::{Entry, Known};

/// What a stored message takes besides its body: ids, times, digest and keys.
pub(in super::super) const MESSAGE_OVERHEAD: usize = 192;

/// A message as it is stored: with the digest of the body it was appended with.
#[derive(Debug, Clone)]
pub(in super::super) struct StoredMessage {
    pub(in super::super) message: Message,
    pub(in super::super) digest: Digest,
    /// The size by which it counts towards the bounds of tail and segment.
    pub(in super::super) bytes: u64,
}

/// Writes the document of a message that is appended now.
pub(in super::super) fn message_document(entry: &Entry, now: Time<Utc>) -> RawDocumentBuf {
    let bytes = entry.bytes + MESSAGE_OVERHEAD;
    let mut document = body_document(entry.event_id.as_str(), &entry.body);
    finish(&mut document, entry.digest, bytes as u64, now);
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

fn finish(document: &mut RawDocumentBuf, digest: Digest, bytes: u64, created_at: Time<Utc>) {
    let digest = Binary { subtype: BinarySubtype::Generic, bytes: digest.to_vec() };
    document.append(cstr!("digest"), digest);
    document.append(cstr!("bytes"), super::counter(bytes));
    document.append(cstr!("created_at"), DateTime::from_chrono(created_at));
}

impl StoredMessage {
    /// Reads the message at a position.
    pub(in super::super) fn read(sequence: u64, fields: &Fields<'_>) -> Result<Self, StoreError> {
        let body = MessageBody {
            role: fields.text("role")?.to_owned(),
            name: fields.optional_text("name")?.map(str::to_owned),
            content: fields.value("content")?,
            timestamp: fields.optional_text("timestamp")?.map(str::to_owned),
            metadata: fields.optional_object("metadata")?,
            extra: extra(fields)?,
        };
        let message = Message {
            sequence,
            event_id: fields.parsed("event_id")?,
            body,
            created_at: fields.time("created_at")?,
            edited_at: fields.optional_time("edited_at")?,
            deleted_at: fields.optional_time("deleted_at")?,
        };
        Ok(Self { message, digest: digest(fields)?, bytes: fields.count("bytes")? })
    }

    /// Writes the document it is put back as.
    pub(in super::super) fn document(&self) -> RawDocumentBuf {
        let message = &self.message;
        let mut document = body_document(message.event_id.as_str(), &message.body);
        finish(&mut document, self.digest, self.bytes, message.created_at);
        if let Some(edited_at) = message.edited_at {
            document.append(cstr!("edited_at"), DateTime::from_chrono(edited_at));
        }
        if let Some(deleted_at) = message.deleted_at {
            document.append(cstr!("deleted_at"), DateTime::from_chrono(deleted_at));
        }
        document
    }
}

fn extra(fields: &Fields<'_>) -> Result<JsonObject, StoreError> {
    let mut extra = JsonObject::new();
    for element in fields.raw() {
        let (key, _) = element.map_err(|e| fields.corrupt("messages", Some(e.into())))?;
        if MessageBody::EXTRA.contains(&key.as_str()) {
            extra.insert(key.as_str().to_owned(), fields.value(key.as_str())?);
        }
    }
    Ok(extra)
}

fn digest(fields: &Fields<'_>) -> Result<Digest, StoreError> {
    let Some(RawBsonRef::Binary(binary)) = fields.optional("digest")? else {
        return Err(fields.corrupt("digest", None));
    };
    binary.bytes.try_into().map_err(|_| fields.corrupt("digest", None))
}

/// Reads what tells repeated messages from new ones, where only that was asked for.
pub(in super::super) fn known_messages(
    fields: &Fields<'_>,
    first_sequence: u64,
) -> Result<Vec<Known>, StoreError> {
    let known = |(sequence, fields): (u64, Result<Fields<'_>, StoreError>)| {
        let fields = fields?;
        Ok(Known { event_id: fields.parsed("event_id")?, sequence, digest: digest(&fields)? })
    };
    (first_sequence..).zip(fields.documents("messages")?).map(known).collect()
}
