//! Updates rollups within the transactions that change the records they count.

use bson::raw::RawArrayBuf;
use bson::rawdoc;
use mongodb::options::ReturnDocument;
use records::{
    AppId, ChatId, ChatSession, ProviderCall, Rollup, RollupKey, Subject, Tally, Usage, UserId,
    WorkflowName,
};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::WORKFLOW_STATS;
use crate::mongo::documents::{
    ChatStart, StoredRollup, rollup_id, rollup_statement, rollup_update,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::transaction::Transaction;
use crate::mongo::stats::Stripe;

/// The chat whose records are counted.
#[derive(Debug)]
pub(crate) struct Counted<'a> {
    pub(crate) app_id: &'a AppId,
    pub(crate) workflow_name: &'a WorkflowName,
    pub(crate) chat_id: &'a ChatId,
    /// What the rollup of the chat says from its first update on.
    pub(crate) start: ChatStart<'a>,
}

impl<'a> Counted<'a> {
    /// A chat that was counted before. If its rollup is missing, its earlier calls are counted for no user, and neither are
    /// its later ones.
    pub(crate) fn of(chat: &'a ChatSession) -> Self {
        let ChatSession { app_id, workflow_name, chat_id, created_at, .. } = chat;
        let start = ChatStart { at: *created_at, user_id: None };
        Self { app_id, workflow_name, chat_id, start }
    }

    /// A chat that is created now.
    fn new(chat: &'a ChatSession, user_id: Option<&'a UserId>) -> Self {
        let start = ChatStart { at: chat.created_at, user_id };
        Self { start, ..Self::of(chat) }
    }

    fn key(&self) -> RollupKey {
        RollupKey { subject: Subject::Chat(self.chat_id.clone()), hour: None }
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

    /// Counts a chat that is created now. Its calls will count for its user.
    ///
    /// Until the upgrade is finished they count for no user, because an older release would leave some of them out.
    pub(crate) async fn count_new_chat(
        &self,
        chat: &ChatSession,
        tx: &Transaction<'_>,
    ) -> Result<(), Failure> {
        let user_id = match &chat.user_id {
            Some(user_id) if self.writes(Shape::UserUsage).await? => Some(user_id),
            _ => None,
        };
        let mut tally = Tally::default();
        tally.chat(chat, 1);
        self.count(&Counted::new(chat, user_id), tally, tx).await
    }

    /// Counts a chat that [may be uncounted now](Transaction::begin_uncounting) as it is now, instead of as it was before.
    pub(crate) async fn recount_chat(
        &self,
        before: &ChatSession,
        now: &ChatSession,
        tx: &Transaction<'_>,
    ) -> Result<(), Failure> {
        if before.is_uncounted == now.is_uncounted {
            return Ok(());
        }
        let mut tally = Tally::default();
        tally.chat_change(before, now);
        self.count(&Counted::of(before), tally, tx).await
    }

    /// Adds to the rollups of a chat's workflow and of its user, and to the chat's own rollup.
    pub(crate) async fn count(
        &self,
        chat: &Counted<'_>,
        tally: Tally,
        tx: &Transaction<'_>,
    ) -> Result<(), Failure> {
        let changes = tally.finish();
        if changes.is_empty() {
            return Ok(());
        }
        let now = self.inner.clock.now();
        let mut updates = RawArrayBuf::new();
        for (key, change) in changes {
            let start = matches!(key.subject, Subject::Chat(_)).then_some(chat.start);
            let id = rollup_id(chat.app_id, chat.workflow_name, &key, tx.stripe());
            let update = rollup_update(&key.subject, &change, now, start);
            updates.push(rollup_statement(id, update)?);
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
        let mut usage = Usage::default();
        for call in calls {
            usage.add(call);
        }
        let mut change = Rollup::default();
        change.merge(&Rollup::from_usage(&usage), times);
        let Before { sums: before, user_id } = self.count_usage(chat, &change, tx).await?;
        let mut after = before.clone();
        after.merge(&change, 1);
        let mut tally = Tally::default();
        tally.usage(&before.usage(), &after.usage());
        for call in calls {
            tally.call(call, times);
            if let Some(user_id) = &user_id {
                tally.user_call(user_id, call, times);
            }
        }
        self.count(chat, tally, tx).await
    }

    /// Adds to a chat's own rollup, and returns what it was before.
    ///
    /// From here on no other transaction counts calls of this chat, or gives them to another user, until this one has ended.
    async fn count_usage(
        &self,
        chat: &Counted<'_>,
        change: &Rollup,
        tx: &Transaction<'_>,
    ) -> Result<Before, Failure> {
        let key = chat.key();
        let id = rollup_id(chat.app_id, chat.workflow_name, &key, 0);
        let update = rollup_update(&key.subject, change, self.inner.clock.now(), Some(chat.start));
        let before = self
            .inner
            .workflow_stats
            .find_one_and_update(bson::doc! { "_id": id }, update)
            .upsert(true)
            .return_document(ReturnDocument::Before)
            .session(&mut *tx.session().await?)
            .await?;
        let Some(raw) = before else { return Ok(Before::default()) };
        let stored = StoredRollup::read(&raw)?;
        Ok(Before { sums: stored.sums()?, user_id: stored.user_id })
    }
}

/// The rollup of a chat before a change.
#[derive(Debug, Default)]
struct Before {
    sums: Rollup,
    /// The user for whom the calls of the chat count.
    user_id: Option<UserId>,
}
