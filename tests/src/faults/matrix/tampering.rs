//! Changes stored messages without the service, as a faulty store might.

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use mongodb::bson::{Document, doc};

use crate::database::Database;
use crate::faults::cluster::Cluster;
use crate::faults::fault::{Fault, Scene};
use crate::waiting::until;

/// A change of a stored message that leaves the document well-formed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tampering {
    /// It is removed.
    Remove,
    /// It is stored a second time.
    Repeat,
    /// It is swapped with its neighbour.
    Swap,
    /// Its content is changed.
    Change,
}

#[async_trait(?Send)]
impl Fault for Tampering {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        scene.workload.progress().more_acknowledged(50).await?;
        let t0 = scene.now();
        // In every chat, because a client may send a removed message again.
        let chats = scene.workload.chats();
        for chat in chats {
            until("a message to tamper with", async || {
                Ok(self.tamper(cluster.database(), chat).await?.then_some(()))
            })
            .await?;
        }
        let window = (t0, scene.now());
        scene.struck("messages tampered with", window, chats.len() as u64)?;
        scene.workload.progress().more_acknowledged(50).await
    }
}

impl Tampering {
    /// Changes the first messages of a tail, unless there are none or they change meanwhile.
    async fn tamper(self, database: &Database, chat_id: &str) -> Result<bool> {
        let sessions = database.raw().collection::<Document>("chat_sessions");
        let found = sessions.find_one(doc! { "_id": chat_id }).await?;
        let session = found.context("the chat is missing")?;
        let messages: Vec<_> =
            session.get_array("messages")?.iter().filter_map(|it| it.as_document()).collect();
        let [first, second, ..] = messages[..] else {
            return Ok(false);
        };
        let unchanged = doc! {
            "_id": chat_id,
            "messages.0.event_id": first.get_str("event_id")?,
            "messages.1.event_id": second.get_str("event_id")?,
        };
        let changed = sessions.update_one(unchanged, self.update(first, second)?).await?;
        Ok(changed.modified_count == 1)
    }

    /// Changes the messages and the numbers derived from them.
    fn update(self, first: &Document, second: &Document) -> Result<Document> {
        let (event_id, bytes) = (first.get_str("event_id")?, first.get_i64("bytes")?);
        Ok(match self {
            Self::Remove => doc! {
                "$pull": { "messages": { "event_id": event_id } },
                "$inc": { "last_sequence": -1_i64, "tail_bytes": -bytes, "revision": 1_i64 },
            },
            Self::Repeat => doc! {
                "$push": { "messages": first },
                "$inc": { "last_sequence": 1_i64, "tail_bytes": bytes, "revision": 1_i64 },
            },
            Self::Swap => doc! {
                "$set": { "messages.0": second, "messages.1": first },
                "$inc": { "revision": 1_i64 },
            },
            Self::Change => doc! {
                "$set": { "messages.0.content": "no client sent this" },
                "$inc": { "revision": 1_i64 },
            },
        })
    }
}
