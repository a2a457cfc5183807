use std::time::Duration;

use async_trait::async_trait;
use bson::raw::RawArrayBuf;
use bson::{Bson, Document, RawDocumentBuf, doc, rawdoc};
use futures::TryStreamExt;
use records::{ChatId, Connection, Scope};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::PRESENCE;
use crate::mongo::documents::{announcement, announcement_record, presence_filter, presence_id};
use crate::mongo::engine::failure::Failure;
use crate::store::{ChatPresence, Presence};

#[async_trait]
impl Presence for MongoStore {
    async fn announce(
        &self,
        scope: &Scope,
        connections: &[Connection],
        lasting: Duration,
    ) -> Result<(), StoreError> {
        self.observe(Call::Announce, None, async {
            if connections.is_empty() {
                return Ok(());
            }
            let (scope, connections) = (scope.clone(), connections.to_vec());
            self.write(|call| async move {
                call.attempt(|_| call.announce_once(&scope, &connections, lasting)).await
            })
            .await
        })
        .await
    }

    async fn withdraw(&self, scope: &Scope, connections: &[Connection]) -> Result<(), StoreError> {
        self.observe(Call::Withdraw, None, async {
            let ids: Vec<Document> = connections.iter().map(presence_id).collect();
            let filter = doc! { "_id": { "$in": ids }, "app_id": scope.app_id.as_str() };
            let chat_ids: Vec<ChatId> = connections.iter().map(|of| of.chat_id.clone()).collect();
            self.write(|call| async move {
                let delete =
                    |_| async { Ok(call.inner.presence.delete_many(filter.clone()).await?) };
                call.attempt(delete).await?;
                for chat_id in &chat_ids {
                    call.notify_presence(chat_id);
                }
                Ok(())
            })
            .await
        })
        .await
    }

    async fn presence(&self, scope: &Scope, chat_id: &ChatId) -> Result<ChatPresence, StoreError> {
        self.observe(Call::Presence, Some(chat_id), async {
            self.read(|| async {
                self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
                let now = self.inner.clock.now();
                let find = self.inner.presence.find(presence_filter(scope, chat_id, now));
                let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
                if found.is_empty() {
                    return Ok(ChatPresence::default());
                }
                let announced = found.iter().map(|raw| announcement_record(raw));
                let announced = announced.collect::<Result<Vec<_>, _>>()?;
                let participants = self.participants_within(scope, chat_id).await?;
                let participants: Vec<_> =
                    participants.into_iter().map(|of| of.participant).collect();
                Ok(ChatPresence::at(now, announced, &participants))
            })
            .await
        })
        .await
    }
}

impl MongoStore {
    /// Announces all connections in one command, and notifies listeners of the new ones.
    async fn announce_once(
        &self,
        scope: &Scope,
        connections: &[Connection],
        lasting: Duration,
    ) -> Result<(), Failure> {
        let now = self.inner.clock.now();
        let mut statements = RawArrayBuf::new();
        for connection in connections {
            statements.push(announcement(scope, connection, now, lasting));
        }
        let command = rawdoc! {
            "update": PRESENCE,
            "updates": statements,
            "ordered": false,
            "writeConcern": { "w": "majority", "j": true },
        };
        let reply = self.inner.database.run_raw_command(command).await?;
        for new in reply.get_array("upserted").map_or(&[][..], Vec::as_slice) {
            let index = new.as_document().and_then(|new| new.get("index")).and_then(Bson::as_i32);
            let new = index.and_then(|index| connections.get(usize::try_from(index).ok()?));
            if let Some(new) = new {
                self.notify_presence(&new.chat_id);
            }
        }
        for error in ["writeErrors", "writeConcernError"] {
            if let Some(error) = reply.get(error) {
                return Err(Failure::NotDurable(error.to_string().into()));
            }
        }
        Ok(())
    }
}
