use anyhow::{Result, ensure};
use async_trait::async_trait;
use persistence::mongo::MongoStore;
use persistence::{ChatFilter, ChatSessions as _};
use records::{AppId, Scope};

use super::chat::APP;
use crate::measure::Read;

/// `ChatSessions::list_chats`: the first page of a list.
#[derive(Debug)]
pub(crate) struct ListChats {
    store: MongoStore,
    scope: Scope,
    filter: ChatFilter,
    limit: usize,
    /// How many sessions the page has.
    expected: usize,
}

impl ListChats {
    /// The newest sessions of an app, of which there are more.
    pub(crate) fn new(store: &MongoStore, limit: usize) -> Result<Self> {
        let scope = Scope::service(AppId::parse(APP)?);
        Ok(Self::of(store, &scope, &ChatFilter::default(), limit, limit))
    }

    /// A list of a caller, whose first page has so many sessions.
    pub(crate) fn of(
        store: &MongoStore,
        scope: &Scope,
        filter: &ChatFilter,
        limit: usize,
        expected: usize,
    ) -> Self {
        let (scope, filter) = (scope.clone(), filter.clone());
        Self { store: store.clone(), scope, filter, limit, expected }
    }
}

#[async_trait]
impl Read for ListChats {
    async fn read(&self) -> Result<()> {
        let page = self.store.list_chats(&self.scope, &self.filter, self.limit, None).await?;
        let count = page.chats.len();
        ensure!(count == self.expected, "{count} sessions were listed");
        Ok(())
    }
}
