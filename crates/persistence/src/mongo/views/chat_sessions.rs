//! Chats with all of their messages, as one document each, and the messages alone.

use bson::{Bson, Document, doc};
use records::Lifecycle;

use super::{CHAT_SESSIONS_VIEW, View};
use crate::mongo::collection_names::{CHAT_BLOBS, CHAT_SEGMENTS, CHAT_SESSIONS, MESSAGE_VERSIONS};
use crate::mongo::documents::{BlobKind, LIFECYCLE};

/// The fields of a chat that `MozaiksAI`'s readers know.
const SHOWN: [&str; 13] = [
    "app_id",
    "workflow_name",
    "user_id",
    "cache_seed",
    "status",
    "created_at",
    "last_updated_at",
    "completed_at",
    "duration_sec",
    "last_sequence",
    "last_artifact",
    "messages",
    "context_snapshot",
];

/// The fields of a stored message that serve the store alone.
const INTERNAL: [&str; 3] = ["messages.digest", "messages.salt", "messages.bytes"];

pub(super) fn views() -> Vec<View> {
    vec![
        View { name: CHAT_SESSIONS_VIEW, source: CHAT_SESSIONS, pipeline: chats() },
        View { name: "mozaiks.messages", source: CHAT_SESSIONS_VIEW, pipeline: messages() },
    ]
}

/// Filters of a reader by fields that are stored as they are shown reach the indexes, because every stage leaves them.
fn chats() -> Vec<Document> {
    let hidden = doc! { "$gte": Lifecycle::Deleted.number() };
    let shown: Document = SHOWN.iter().map(|field| ((*field).to_owned(), 1.into())).collect();
    vec![
        doc! { "$match": { LIFECYCLE: { "$not": hidden } } },
        doc! { "$lookup": sealed_messages() },
        doc! { "$lookup": overlays() },
        doc! { "$lookup": blob(BlobKind::Context, "$context_blob") },
        doc! { "$lookup": blob(BlobKind::Artifact, "$artifact_blob") },
        doc! { "$set": {
            "messages": shown_messages(),
            "context_snapshot": {
                "$ifNull": [{ "$arrayElemAt": ["$context.data", 0] }, "$context_snapshot"],
            },
            "last_artifact": last_artifact(),
        } },
        doc! { "$unset": INTERNAL.as_slice() },
        doc! { "$project": shown },
    ]
}

/// One document for each message, so that a chat larger than a document can be read.
fn messages() -> Vec<Document> {
    vec![
        doc! { "$unwind": "$messages" },
        doc! { "$project": {
            "_id": 0,
            "chat_id": "$_id",
            "app_id": 1,
            "workflow_name": 1,
            "sequence": "$messages.sequence",
            "message": "$messages",
        } },
    ]
}

/// The chats whose segments hold the sealed messages, each with the sequences that it holds.
fn pieces() -> Document {
    let before = doc! { "$arrayElemAt": ["$bases.below", { "$subtract": ["$$n", 1] }] };
    let from = doc! { "$cond": [{ "$eq": ["$$n", 0] }, 0, before] };
    let base = doc! { "$let": {
        "vars": { "base": { "$arrayElemAt": ["$bases", "$$n"] } },
        "in": { "chat_id": "$$base.chat_id", "from": from, "below": "$$base.below" },
    } };
    let bases = doc! { "$size": { "$ifNull": ["$bases", []] } };
    let of_bases = doc! { "$map": { "input": { "$range": [0, bases] }, "as": "n", "in": base } };
    let own = doc! { "chat_id": "$_id", "from": inherited_below(), "below": "$first_sequence" };
    doc! { "$concatArrays": [of_bases, [own]] }
}

fn inherited_below() -> Document {
    doc! { "$ifNull": [{ "$max": "$bases.below" }, 0] }
}

/// Begins a pipeline for each item of the array `$$items` of the chat `$$chat`.
///
/// The session alone has the items, so that everything is of the moment in which it was read.
fn each_item(rank: &str) -> Vec<Document> {
    vec![
        doc! { "$match": { "$expr": { "$eq": ["$_id", "$$chat"] } } },
        doc! { "$project": { "_id": 0, "item": "$$items" } },
        doc! { "$unwind": { "path": "$item", "includeArrayIndex": rank } },
    ]
}

/// The sealed messages in order, each with its sequence.
fn sealed_messages() -> Document {
    let span = doc! { "$and": [
        { "$gte": ["$_id", { "chat_id": "$$owner", "first_sequence": 0_i64 }] },
        { "$lt": ["$_id", { "chat_id": "$$owner", "first_sequence": "$$below" }] },
        { "$eq": ["$app_id", "$$app"] },
    ] };
    let segments = doc! {
        "from": CHAT_SEGMENTS,
        "let": { "owner": "$item.chat_id", "below": "$item.below" },
        "pipeline": [
            { "$match": { "$expr": span } },
            { "$sort": { "_id": 1 } },
            { "$project": { "messages": 1 } },
        ],
        "as": "segment",
    };
    let sequence = doc! { "$add": ["$segment._id.first_sequence", "$place"] };
    let is_held = doc! { "$and": [
        { "$gte": ["$sequence", "$item.from"] },
        { "$lt": ["$sequence", "$item.below"] },
    ] };
    let mut pipeline = each_item("piece");
    pipeline.extend([
        doc! { "$match": { "$expr": { "$lt": ["$item.from", "$item.below"] } } },
        doc! { "$lookup": segments },
        doc! { "$unwind": "$segment" },
        doc! { "$unwind": { "path": "$segment.messages", "includeArrayIndex": "place" } },
        doc! { "$set": { "sequence": sequence } },
        doc! { "$match": { "$expr": is_held } },
        doc! { "$replaceWith": {
            "$mergeObjects": ["$segment.messages", { "sequence": "$sequence" }],
        } },
    ]);
    doc! {
        "from": CHAT_SESSIONS,
        "let": { "chat": "$_id", "app": "$app_id", "items": pieces() },
        "pipeline": pipeline,
        "as": "sealed",
    }
}

/// The chats that may have edited shared messages: the one that is last in the lineage decides.
fn editors() -> Document {
    let shared = doc! { "$ifNull": ["$shared_below", 0_i64] };
    // All edits of the chat itself are visible, also those since the session was read.
    let revision = doc! { "$cond": [{ "$eq": ["$revision", 0] }, 0_i64, i64::MAX] };
    let own = doc! {
        "chat_id": "$_id",
        "below": { "$max": [inherited_below(), shared] },
        "revision": revision,
    };
    doc! { "$concatArrays": [{ "$ifNull": ["$bases", []] }, [own]] }
}

/// The overlays that the chat shows, each with the sequence of its message.
fn overlays() -> Document {
    let range = doc! { "$and": [
        { "$gte": ["$_id", { "chat_id": "$$editor", "sequence": 0_i64, "revision": 0_i64 }] },
        { "$lt": ["$_id", { "chat_id": "$$editor", "sequence": "$$below", "revision": 0_i64 }] },
        { "$lte": ["$_id.revision", "$$revision"] },
        { "$eq": ["$app_id", "$$app"] },
    ] };
    let versions = doc! {
        "from": MESSAGE_VERSIONS,
        "let": {
            "editor": "$item.chat_id",
            "below": "$item.below",
            "revision": "$item.revision",
        },
        "pipeline": [{ "$match": { "$expr": range } }],
        "as": "version",
    };
    let mut pipeline = each_item("rank");
    pipeline.extend([
        doc! { "$match": { "item.revision": { "$gt": 0 } } },
        doc! { "$lookup": versions },
        doc! { "$unwind": "$version" },
        doc! { "$sort": { "rank": 1, "version._id.revision": 1 } },
        doc! { "$group": {
            "_id": "$version._id.sequence",
            "message": { "$last": "$version.message" },
        } },
    ]);
    doc! {
        "from": CHAT_SESSIONS,
        "let": { "chat": "$_id", "app": "$app_id", "items": editors() },
        "pipeline": pipeline,
        "as": "overlays",
    }
}

/// The sealed messages with their overlays, and the tail.
fn shown_messages() -> Document {
    let overlaid = doc! { "$arrayElemAt": ["$overlays.message", "$$at"] };
    let overlaid = doc! { "$mergeObjects": [overlaid, { "sequence": "$$message.sequence" }] };
    let shown = doc! { "$let": {
        "vars": { "at": { "$indexOfArray": ["$$edited", "$$message.sequence"] } },
        "in": { "$cond": [{ "$lt": ["$$at", 0] }, "$$message", overlaid] },
    } };
    let sealed = doc! { "$let": {
        "vars": { "edited": "$overlays._id" },
        "in": { "$map": { "input": "$sealed", "as": "message", "in": shown } },
    } };
    let place = doc! { "sequence": { "$add": ["$first_sequence", "$$n"] } };
    let placed = doc! { "$mergeObjects": [{ "$arrayElemAt": ["$messages", "$$n"] }, place] };
    let range = doc! { "$range": [0, { "$size": "$messages" }] };
    let tail = doc! { "$map": { "input": range, "as": "n", "in": placed } };
    doc! { "$map": {
        "input": { "$concatArrays": [sealed, tail] },
        "as": "message",
        "in": message(),
    } }
}

/// A message with the fields of `MozaiksAI`'s first, and with a timestamp in any case.
fn message() -> Document {
    let stored_at = doc! { "$dateToString": {
        "date": "$$message.created_at", "format": "%Y-%m-%dT%H:%M:%S.%LZ",
    } };
    let first = doc! {
        "role": "$$message.role",
        "name": "$$message.name",
        "content": "$$message.content",
        "sequence": "$$message.sequence",
        "timestamp": { "$ifNull": ["$$message.timestamp", stored_at] },
        "event_id": "$$message.event_id",
    };
    doc! { "$mergeObjects": [first, "$$message"] }
}

/// The data of a blob, in an array of one or none.
fn blob(kind: BlobKind, reference: &str) -> Document {
    let id = doc! { "chat_id": "$$chat", "kind": kind.as_str(), "blob": "$$blob" };
    let is_it = doc! { "$and": [{ "$eq": ["$_id", id] }, { "$eq": ["$app_id", "$$app"] }] };
    doc! {
        "from": CHAT_BLOBS,
        "let": { "chat": "$_id", "app": "$app_id", "blob": reference },
        "pipeline": [{ "$match": { "$expr": is_it } }, { "$project": { "data": 1 } }],
        "as": kind.as_str(),
    }
}

fn last_artifact() -> Document {
    let in_blob = doc! { "payload": { "$arrayElemAt": ["$artifact.data", 0] } };
    let has_blob = doc! { "$gt": [{ "$size": "$artifact" }, 0] };
    let payload = doc! { "$cond": [has_blob, in_blob, {}] };
    let is_set = doc! { "$eq": [{ "$type": "$last_artifact" }, "object"] };
    let whole = doc! { "$mergeObjects": ["$last_artifact", payload] };
    doc! { "$cond": [is_set, whole, Bson::Null] }
}
