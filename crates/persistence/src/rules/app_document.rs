//! What a write of a document stores, and who may make it.

use std::collections::VecDeque;

use chrono::{DateTime, Utc};
use records::{
    Caller, DocumentHead, DocumentPath, Invalid, NewDocument, Permission, Scope, SizeLimit,
};
use sha2::{Digest as _, Sha256};

use crate::StoreError;
use crate::store::{AppendCondition, AppendedDocument, Outcome, PutCondition, Written};

/// The digest of a content and its media type.
pub(crate) type ContentDigest = [u8; 32];

/// A document as both stores keep it, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptDocument {
    pub(crate) head: DocumentHead,
    /// The digest of the content, if it was put and nothing was appended to it since.
    pub(crate) digest: Option<ContentDigest>,
    /// The newest writes, puts too, oldest first. There are at most [`AppendCondition::RECOGNISED`].
    pub(crate) appends: VecDeque<KeptAppend>,
}

/// An append that a document remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptAppend {
    pub(crate) write_id: String,
    pub(crate) bytes: u64,
}

/// What a put does.
#[derive(Debug)]
pub(crate) enum Put {
    /// The document was put like this before.
    Keep(DocumentHead),
    /// This is stored, in place of what there is.
    Store(KeptDocument),
}

/// What an append does.
#[derive(Debug)]
pub(crate) enum Append {
    /// Its key says that it was made before, from here on: with the same bytes, or it is another one.
    MadeBefore(u64),
    /// Its key says that it was made before, and a put has replaced its bytes.
    Replaced,
    /// It was made before if the content has these bytes from here on.
    DoneIfStored(u64),
    /// The document is created with the content.
    Create(KeptDocument),
    /// The content is added at the end of the document, which becomes this.
    Add(KeptDocument),
}

/// Returns the digest of a content and its media type.
pub(crate) fn digest(new: &NewDocument) -> ContentDigest {
    let mut hasher = begin_digest(&new.content_type);
    hasher.update(&new.content);
    end_digest(hasher)
}

/// Begins the digest of a content of a media type, whose bytes are added in order.
pub(crate) fn begin_digest(content_type: &str) -> Sha256 {
    let mut hasher = Sha256::new();
    hasher.update(content_type.as_bytes());
    hasher.update([0]);
    hasher
}

/// Ends a digest.
pub(crate) fn end_digest(hasher: Sha256) -> ContentDigest {
    hasher.finalize().into()
}

/// Decides on a put; `content_id` is what the content gets. The caller's rights in the stored document were checked.
pub(crate) fn put(
    scope: &Scope,
    path: &DocumentPath,
    new: &NewDocument,
    condition: &PutCondition,
    stored: Option<&KeptDocument>,
    (now, content_id): (DateTime<Utc>, &str),
) -> Result<Put, StoreError> {
    let PutCondition { only_new, write_id } = condition;
    let changed = || StoreError::DocumentChanged(path.clone());
    let digest = digest(new);
    let own = KeptAppend {
        write_id: write_id.as_deref().unwrap_or(content_id).to_owned(),
        bytes: new.content.len() as u64,
    };
    let Some(stored) = stored else {
        if scope.if_match.is_some() {
            return Err(changed());
        }
        let head = created(scope, path, new, now, content_id);
        return Ok(Put::Store(KeptDocument {
            head,
            digest: Some(digest),
            appends: VecDeque::from([own]),
        }));
    };
    new.binding.check_agrees(&stored.head.binding)?;
    let is_own = |kept: &&KeptAppend| Some(&kept.write_id) == write_id.as_ref();
    if let Some(kept) = stored.appends.iter().find(is_own) {
        // Of the newest write the digest is known, of those before it the size alone.
        let is_newest = stored.appends.back() == Some(kept);
        let is_other = is_newest && stored.digest.is_some_and(|of_stored| of_stored != digest);
        if kept.bytes != own.bytes || is_other {
            return Err(StoreError::AppendConflict(path.clone()));
        }
        return Ok(Put::Keep(stored.head.clone()));
    }
    let is_same =
        stored.digest == Some(digest) && new.lifetime.is_none() && stored.head.expires_at.is_none();
    // What a write without an id would store is there: an earlier request of it has stored it. One with an id is another write,
    // and must be remembered: repeated later, it undoes nothing.
    if is_same && write_id.is_none() && (!only_new || stored.head.version == 1) {
        return Ok(Put::Keep(stored.head.clone()));
    }
    if *only_new {
        return Err(changed());
    }
    check_seen(scope, &stored.head)?;
    let head = DocumentHead {
        content_type: new.content_type.clone(),
        size: new.content.len() as u64,
        content_id: content_id.to_owned(),
        version: stored.head.version + 1,
        last_updated_at: now,
        expires_at: new.lifetime.map(|lifetime| now + lifetime),
        ..stored.head.clone()
    };
    // The puts and appends before it are still recognised, so that none of them, sent again, undoes this one.
    let mut appends: VecDeque<_> = stored.appends.iter().cloned().chain([own]).collect();
    while appends.len() > AppendCondition::RECOGNISED {
        appends.pop_front();
    }
    Ok(Put::Store(KeptDocument { head, digest: Some(digest), appends }))
}

/// Decides on an append; `content_id` is that of a document that it creates. The caller's rights in the stored document were checked.
pub(crate) fn append(
    scope: &Scope,
    path: &DocumentPath,
    new: &NewDocument,
    condition: &AppendCondition,
    write_id: &str,
    stored: Option<&KeptDocument>,
    (now, content_id): (DateTime<Utc>, &str),
) -> Result<Append, StoreError> {
    let bytes = new.content.len() as u64;
    let appended = KeptAppend { write_id: write_id.to_owned(), bytes };
    let Some(stored) = stored else {
        if scope.if_match.is_some() {
            return Err(StoreError::DocumentChanged(path.clone()));
        }
        if condition.offset.is_some_and(|offset| offset > 0) {
            return Err(StoreError::DocumentOffset { path: path.clone(), size: 0 });
        }
        let head = created(scope, path, new, now, content_id);
        let appends = VecDeque::from([appended]);
        return Ok(Append::Create(KeptDocument { head, digest: None, appends }));
    };
    match made_before(stored, write_id) {
        Some((_, appended)) if appended != bytes => {
            return Err(StoreError::AppendConflict(path.clone()));
        }
        Some((Some(offset), _)) => return Ok(Append::MadeBefore(offset)),
        Some((None, _)) => return Ok(Append::Replaced),
        None => {}
    }
    new.binding.check_agrees(&stored.head.binding)?;
    let size = stored.head.size;
    if let Some(offset) = condition.offset.filter(|offset| *offset != size) {
        if offset.checked_add(bytes).is_some_and(|end| bytes > 0 && end <= size) {
            return Ok(Append::DoneIfStored(offset));
        }
        return Err(StoreError::DocumentOffset { path: path.clone(), size });
    }
    check_seen(scope, &stored.head)?;
    if size + bytes > DocumentHead::MAX_BYTES {
        let detail = format!(
            "would make the document {} bytes; the limit is {} bytes",
            size + bytes,
            DocumentHead::MAX_BYTES
        );
        return Err(Invalid::too_large(SizeLimit::Document, "", detail).into());
    }
    let head = DocumentHead {
        size: size + bytes,
        version: stored.head.version + 1,
        last_updated_at: now,
        ..stored.head.clone()
    };
    let mut appends = stored.appends.clone();
    appends.push_back(appended);
    if appends.len() > AppendCondition::RECOGNISED {
        appends.pop_front();
    }
    Ok(Append::Add(KeptDocument { head, digest: None, appends }))
}

/// Returns where the bytes of a write begin, and how many they are, if the document remembers it. A put begins the content, so that what
/// was written before one is nowhere.
fn made_before(stored: &KeptDocument, write_id: &str) -> Option<(Option<u64>, u64)> {
    let mut end = stored.head.size;
    stored.appends.iter().rev().find_map(|write| {
        let begin = end.checked_sub(write.bytes);
        end = begin.unwrap_or(0);
        (write.write_id == write_id).then_some((begin, write.bytes))
    })
}

/// Returns the answer to an append that begins at `offset`.
pub(crate) fn answer(head: &DocumentHead, offset: u64, outcome: Outcome) -> AppendedDocument {
    AppendedDocument { offset, size: head.size, entity_tag: head.entity_tag(), outcome }
}

/// Returns the answer to a put that has stored this.
pub(crate) fn written(head: DocumentHead) -> Written<DocumentHead> {
    if head.version == 1 { Written::stored(head) } else { Written::found(head, false) }
}

/// Refuses a write of a document that the caller has seen otherwise.
pub(crate) fn check_seen(scope: &Scope, head: &DocumentHead) -> Result<(), StoreError> {
    match &scope.if_match {
        Some(seen) if !seen.accepts(&head.entity_tag()) => {
            Err(StoreError::DocumentChanged(head.path.clone()))
        }
        _ => Ok(()),
    }
}

/// Refuses a caller without the permission of the scope in a document of no chat. A document that the caller may not read does
/// not exist.
pub(crate) fn check_permitted(scope: &Scope, head: &DocumentHead) -> Result<(), StoreError> {
    let may = |permission| scope.reach(permission).includes_record(head);
    let path = head.path.clone();
    match scope.permission {
        permission if may(permission) => Ok(()),
        permission if may(Permission::Read) => {
            Err(StoreError::DocumentForbidden { path, permission })
        }
        _ => Err(StoreError::DocumentNotFound(path)),
    }
}

/// Refuses a caller who may not create a document of no chat.
pub(crate) fn check_creates(
    scope: &Scope,
    path: &DocumentPath,
    new: &NewDocument,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let head = created(scope, path, new, now, "");
    let is_support = matches!(scope.caller, Caller::Support { .. });
    if is_support || !scope.reach(scope.permission).includes_record(&head) {
        let (path, permission) = (path.clone(), scope.permission);
        return Err(StoreError::DocumentForbidden { path, permission });
    }
    Ok(())
}

/// The error of a write under a path that belongs to a document which the caller may not read.
pub(crate) fn taken(refusal: StoreError) -> StoreError {
    match refusal {
        StoreError::DocumentNotFound(path) => StoreError::DocumentTaken(path),
        refusal => refusal,
    }
}

fn created(
    scope: &Scope,
    path: &DocumentPath,
    new: &NewDocument,
    now: DateTime<Utc>,
    content_id: &str,
) -> DocumentHead {
    DocumentHead {
        app_id: scope.app_id.clone(),
        path: path.clone(),
        binding: new.binding.of_created(scope.caller.person()),
        content_type: new.content_type.clone(),
        size: new.content.len() as u64,
        content_id: content_id.to_owned(),
        version: 1,
        created_at: now,
        last_updated_at: now,
        expires_at: new.lifetime.map(|lifetime| now + lifetime),
    }
}
