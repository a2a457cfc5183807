//! Goes behind the service's back and changes what is stored, as a faulty store might.

use anyhow::Result;
use async_trait::async_trait;
use futures::TryStreamExt as _;
use mongodb::bson::{Document, doc};

use crate::database::Database;
use crate::faults::cluster::Cluster;
use crate::faults::fault::{Fault, Scene};
use crate::patience::until;

/// What is done to a stored message, in a way that leaves the document well-formed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tampering {
    /// It is taken out.
    Remove,
    /// It is put in once more.
    Repeat,
    /// It changes places with its neighbour.
    Swap,
    /// It says something else.
    Change,
}

#[async_trait(?Send)]
impl Fault for Tampering {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        scene.workload.progress().more_acknowledged(50).await?;
        let t0 = scene.now();
        let database = cluster.database();
        until("a chat to be tampered with", async || {
            Ok(self.tamper(database).await?.then_some(()))
        })
        .await?;
        scene.struck("message tampered with", (t0, scene.now()), 1)?;
        scene.workload.progress().more_acknowledged(50).await
    }
}

impl Tampering {
    /// Changes the first two messages of some tail, if nobody else changes them meanwhile.
    async fn tamper(&self, database: &Database) -> Result<bool> {
        let sessions = database.raw().collection::<Document>("chat_sessions");
        let mut found = sessions.find(doc! { "messages.1": { "$exists": true } }).await?;
        let Some(session) = found.try_next().await? else {
            return Ok(false);
        };
        let messages: Vec<_> =
            session.get_array("messages")?.iter().filter_map(|it| it.as_document()).collect();
        let [first, second, ..] = messages[..] else {
            return Ok(false);
        };
        let unchanged = doc! {
            "_id": session.get_str("_id")?,
            "messages.0.event_id": first.get_str("event_id")?,
            "messages.1.event_id": second.get_str("event_id")?,
        };
        let changed = sessions.update_one(unchanged, self.update(first, second)?).await?;
        Ok(changed.modified_count == 1)
    }

    /// Changes the messages and all that is kept beside them.
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
                "$set": { "messages.0.content": "nobody said this" },
                "$inc": { "revision": 1_i64 },
            },
        })
    }
}
