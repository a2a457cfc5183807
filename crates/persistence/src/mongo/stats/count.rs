//! Updates rollups within the transactions that change the records they count.

use bson::raw::RawArrayBuf;
use bson::rawdoc;
use chrono::{DateTime, Utc};
use mongodb::options::ReturnDocument;
use records::{
    AppId, ChatId, ChatSession, ProviderCall, Rollup, RollupKey, Subject, Tally, Usage,
    WorkflowName,
};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::WORKFLOW_STATS;
use crate::mongo::documents::{rollup_id, rollup_statement, rollup_sums, rollup_update};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::transaction::Transaction;
use crate::mongo::stats::Stripe;

/// The chat whose records are counted.
#[derive(Debug)]
pub(crate) struct Counted<'a> {
    pub(crate) app_id: &'a AppId,
    pub(crate) workflow_name: &'a WorkflowName,
    pub(crate) chat_id: &'a ChatId,
    pub(crate) created_at: DateTime<Utc>,
}

impl<'a> Counted<'a> {
    pub(crate) fn of(chat: &'a ChatSession) -> Self {
        let ChatSession { app_id, workflow_name, chat_id, created_at, .. } = chat;
        Self { app_id, workflow_name, chat_id, created_at: *created_at }
    }
}

impl MongoStore {
    /// Takes a stripe of a workflow, at or above `from` if possible.
    pub(crate) async fn stripe(
        &self,
        app_id: &AppId,
        workflow_name: &WorkflowName,
        from: u32,
    ) -> Stripe<'_> {
        self.inner.stripes.take(app_id, workflow_name, from).await
    }

    /// Adds to the rollups of a chat's workflow, and to the chat's own rollup.
    pub(crate) async fn count(
        &self,
        chat: &Counted<'_>,
        tally: Tally,
        tx: &Transaction<'_>,
    ) -> Result<(), Failure> {
        let now = self.inner.clock.now();
        let mut updates = RawArrayBuf::new();
        for (key, change) in tally.finish() {
            let started_at = matches!(key.subject, Subject::Chat(_)).then_some(chat.created_at);
            let id = rollup_id(chat.app_id, chat.workflow_name, &key, tx.stripe());
            updates.push(rollup_statement(id, rollup_update(&change, now, started_at))?);
        }
        let command = rawdoc! { "update": WORKFLOW_STATS, "updates": updates };
        let reply = self.inner.database.run_raw_command(command);
        let reply = reply.session(&mut *tx.session().await?).await?;
        match reply.get("writeErrors") {
            None => Ok(()),
            Some(errors) => {
                let source = format!("the rollups were not written: {errors}");
                Err(StoreError::Refused { source: source.into() }.into())
            }
        }
    }

    /// Counts calls of a chat `times` times in all their rollups; a negative number removes them.
    pub(crate) async fn count_calls(
        &self,
        chat: &Counted<'_>,
        calls: &[&ProviderCall],
        times: i64,
        tx: &Transaction<'_>,
    ) -> Result<(), Failure> {
        let (mut tally, mut usage) = (Tally::default(), Usage::default());
        for call in calls {
            tally.call(call, times);
            usage.add(call);
        }
        let mut change = Rollup::default();
        change.merge(&Rollup::from_usage(&usage), times);
        let before = self.count_usage(chat, &change, tx).await?;
        let mut after = before.clone();
        after.merge(&change, 1);
        tally.usage(&before.usage(), &after.usage());
        self.count(chat, tally, tx).await
    }

    /// Adds to a chat's own rollup, and returns its former value.
    ///
    /// From here on no other transaction counts calls of this chat until this one has ended.
    async fn count_usage(
        &self,
        chat: &Counted<'_>,
        change: &Rollup,
        tx: &Transaction<'_>,
    ) -> Result<Rollup, Failure> {
        let key = RollupKey { subject: Subject::Chat(chat.chat_id.clone()), hour: None };
        let id = rollup_id(chat.app_id, chat.workflow_name, &key, 0);
        let update = rollup_update(change, self.inner.clock.now(), Some(chat.created_at));
        let before = self
            .inner
            .workflow_stats
            .find_one_and_update(bson::doc! { "_id": id }, update)
            .upsert(true)
            .return_document(ReturnDocument::Before)
            .session(&mut *tx.session().await?)
            .await?;
        Ok(before.as_ref().map(rollup_sums).transpose()?.unwrap_or_default())
    }
}
