use anyhow::{Result, ensure};
use async_trait::async_trait;
use persistence::mongo::MongoStore;
use persistence::{ChatFilter, ChatSessions as _};
use records::{AppId, Scope};

use super::chat::APP;
use crate::measure::Read;

/// `ChatSessions::list_chats`: the newest sessions of an app.
#[derive(Debug)]
pub(crate) struct ListChats {
    store: MongoStore,
    scope: Scope,
    limit: usize,
}

impl ListChats {
    pub(crate) fn new(store: &MongoStore, limit: usize) -> Result<Self> {
        let scope = Scope::service(AppId::parse(APP)?);
        Ok(Self { store: store.clone(), scope, limit })
    }
}

#[async_trait]
impl Read for ListChats {
    async fn read(&self) -> Result<()> {
        let all = ChatFilter::default();
        let page = self.store.list_chats(&self.scope, &all, self.limit, None).await?;
        let count = page.chats.len();
        ensure!(count == self.limit && page.next.is_some(), "{count} sessions were listed");
        Ok(())
    }
}
