use bson::{RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use mongodb::options::Hint;
use records::{AppId, ChatId};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::engine::scope::chat_ids;

/// How many chats are indexed at a time.
const PAGE: i64 = 200;

impl MongoStore {
    /// Counts the chats of an app whose index a rebuild writes anew.
    pub async fn count_searched_chats(&self, app_id: &AppId) -> Result<u64, StoreError> {
        let of_app = doc! { "app_id": app_id.as_str() };
        self.read(|| async { Ok(self.inner.chat_sessions.count_documents(of_app.clone()).await?) })
            .await
    }

    /// Writes the search index of every chat of an app anew, and calls `indexed` after each group of chats, with their number.
    ///
    /// Searches go on meanwhile. Safe to repeat, and to run beside services.
    pub async fn rebuild_search(
        &self,
        app_id: &AppId,
        indexed: &(dyn Fn(u64) + Sync),
    ) -> Result<(), StoreError> {
        let mut after = String::new();
        loop {
            let page = self.read(|| async {
                let page = doc! { "_id": { "$gt": &after }, "app_id": app_id.as_str() };
                let find = self.inner.chat_sessions.find(page).sort(doc! { "_id": 1 }).limit(PAGE);
                let find = find.hint(Hint::Keys(doc! { "_id": 1 })).projection(doc! { "_id": 1 });
                Ok(find.await?.try_collect::<Vec<RawDocumentBuf>>().await?)
            });
            let page = page.await?;
            let mut chats: Vec<ChatId> = chat_ids(&page).collect();
            let (Some(last), count) = (chats.last(), chats.len() as u64) else { return Ok(()) };
            after = last.to_string();
            self.reset_marks(&chats).await?;
            while !chats.is_empty() {
                chats = self.index(chats).await?;
            }
            indexed(count);
        }
    }

    /// Makes the index of chats begin again. What it has stays until it is replaced.
    async fn reset_marks(&self, chats: &[ChatId]) -> Result<(), StoreError> {
        let ids: Vec<&str> = chats.iter().map(ChatId::as_str).collect();
        let these = doc! { "_id": { "$in": ids } };
        let reset = doc! { "$set": { "next_sequence": 0_i64 } };
        self.write_until(self.deadline(), |_| async {
            self.inner.search_marks.update_many(these.clone(), reset.clone()).await?;
            Ok(())
        })
        .await
    }
}
