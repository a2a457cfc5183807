//! Finds what no process has noticed: a pass over the chats of an app that have changed since the last one.

use bson::{Bson, DateTime, Document, RawDocument, RawDocumentBuf, doc};
use chrono::{TimeDelta, Utc};
use records::{AppId, ChatId, ChatStatus, Lifecycle, minute_of};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collections::{ACTIVE_MINUTE, EDITED_AT, session_index};
use crate::mongo::documents::{LIFECYCLE, SCHEMA_VERSION};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::hinted::SortedFind;
use crate::store::CatchUp;

/// How far before the end of the last pass the next one begins: longer than a change takes to become visible, and than the
/// clocks of processes differ.
const OVERLAP: TimeDelta = TimeDelta::minutes(3);

/// A chat that has changed.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) chat_id: ChatId,
    active_minute: Option<chrono::DateTime<Utc>>,
    edited_at: Option<chrono::DateTime<Utc>>,
}

impl Changed {
    /// Reads where a chat stands in a pass; `None` if it has no id. What else it holds is checked when it is handled: a chat
    /// that a pass could not read would keep it from all that follow.
    fn read(raw: &RawDocument) -> Option<Self> {
        let chat_id = ChatId::parse(raw.get_str("_id").ok()?).ok()?;
        let time = |field: &str| raw.get_datetime(field).ok().map(DateTime::to_chrono);
        Some(Self { chat_id, active_minute: time(ACTIVE_MINUTE), edited_at: time(EDITED_AT) })
    }
}

impl MongoStore {
    pub(super) async fn catch_up(
        &self,
        app_id: &AppId,
        after: Option<&CatchUp>,
        limit: usize,
    ) -> Result<Option<CatchUp>, StoreError> {
        let pass = match after {
            Some(after) => after.clone(),
            None => self.read(|| self.begin_pass(app_id)).await?,
        };
        let (changed, is_last) = self.read(|| self.changed_chats(app_id, &pass, limit)).await?;
        let mut chats: Vec<ChatId> = changed.iter().map(|chat| chat.chat_id.clone()).collect();
        while !chats.is_empty() {
            chats = self.index(chats).await?;
        }
        let (is_at_appends, began_at) = (pass.is_at_appends, pass.began_at);
        let next = next_after(&pass, changed, is_last);
        match &next {
            None => self.record_progress(app_id, began_at).await?,
            // The edits are indexed already, so the appends alone say how far everything is.
            Some(CatchUp { last: Some((minute, _)), .. }) if is_at_appends => {
                self.record_progress(app_id, (*minute).min(began_at)).await?;
            }
            Some(_) => {}
        }
        Ok(next)
    }

    async fn begin_pass(&self, app_id: &AppId) -> Result<CatchUp, Failure> {
        self.require(Shape::MessageSearch).await?;
        let began_at = self.inner.clock.now();
        let since = self.indexed_to(app_id).await?.map(|indexed_to| indexed_to - OVERLAP);
        Ok(CatchUp::begin(began_at, since))
    }

    async fn record_progress(
        &self,
        app_id: &AppId,
        indexed_to: chrono::DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let one = doc! { "_id": app_id.as_str() };
        let update = doc! {
            "$max": { "indexed_to": DateTime::from_chrono(indexed_to) },
            "$setOnInsert": { "schema_version": SCHEMA_VERSION },
        };
        self.write_until(self.deadline(), |_| async {
            let progress = &self.inner.search_progress;
            progress.update_one(one.clone(), update.clone()).upsert(true).await?;
            Ok(())
        })
        .await
    }

    /// Returns the next changed chats of an app, at most `limit`, and whether they are the last ones.
    pub(crate) async fn changed_chats(
        &self,
        app_id: &AppId,
        pass: &CatchUp,
        limit: usize,
    ) -> Result<(Vec<Changed>, bool), Failure> {
        let since = pass.since.unwrap_or_default();
        let mut filter = doc! { "app_id": app_id.as_str() };
        let (field, since, index) = if pass.is_at_appends {
            let statuses = ChatStatus::ALL.map(|status| Bson::from(status.number()));
            filter.insert("status", doc! { "$in": statuses.to_vec() });
            let stored = [Lifecycle::Archived, Lifecycle::Deleted].map(|it| it.number().into());
            // An active chat has no lifecycle.
            let lifecycles: Vec<Bson> = stored.into_iter().chain([Bson::Null]).collect();
            filter.insert(LIFECYCLE, doc! { "$in": lifecycles });
            (ACTIVE_MINUTE, minute_of(since), "cs_list_active")
        } else {
            (EDITED_AT, since, "cs_app_edited")
        };
        let mut found: Vec<RawDocumentBuf> = Vec::new();
        for (condition, sort) in after(field, since, pass) {
            let mut filter = filter.clone();
            filter.extend(condition);
            let find = SortedFind {
                filter,
                sort,
                index: session_index(index),
                limit: limit.saturating_sub(found.len()),
                projection: doc! { ACTIVE_MINUTE: 1, EDITED_AT: 1 },
            };
            // A limit of 0 would be none.
            if find.limit > 0 {
                found.extend(find.read(&self.inner.chat_sessions).await?);
            }
        }
        let chats: Vec<_> = found.iter().filter_map(|raw| Changed::read(raw)).collect();
        let is_last = found.len() < limit || chats.is_empty();
        Ok((chats, is_last))
    }
}

/// Returns where a pass goes on after some changed chats; `None` at its end.
pub(crate) fn next_after(pass: &CatchUp, changed: Vec<Changed>, is_last: bool) -> Option<CatchUp> {
    let last = changed.into_iter().next_back().and_then(|chat| {
        let time = if pass.is_at_appends { chat.active_minute } else { chat.edited_at };
        Some((time?, chat.chat_id))
    });
    match (pass.is_at_appends, is_last) {
        (false, true) => Some(CatchUp { is_at_appends: true, last: None, ..pass.clone() }),
        (true, true) => None,
        (_, false) => Some(CatchUp { last, ..pass.clone() }),
    }
}

/// Returns the conditions for the chats after the last one of a pass, and the order of each. As one condition, the server
/// would sort in memory.
fn after(field: &str, since: chrono::DateTime<Utc>, pass: &CatchUp) -> Vec<(Document, Document)> {
    let sort = doc! { field: 1, "_id": 1 };
    let Some((time, chat_id)) = &pass.last else {
        return vec![(doc! { field: { "$gte": DateTime::from_chrono(since) } }, sort)];
    };
    let time = DateTime::from_chrono(*time);
    let same = doc! { field: time, "_id": { "$gt": chat_id.as_str() } };
    vec![(same, doc! { "_id": 1 }), (doc! { field: { "$gt": time } }, sort)]
}
