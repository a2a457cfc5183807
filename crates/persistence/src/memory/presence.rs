use std::time::Duration;

use async_trait::async_trait;
use records::{ChatId, Connection, Scope};

use super::{Chat, MemoryStore};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::presence::Announced;
use crate::store::{ChatPresence, Presence};

#[async_trait]
impl Presence for MemoryStore {
    async fn announce(
        &self,
        scope: &Scope,
        connections: &[Connection],
        lasting: Duration,
    ) -> Result<(), StoreError> {
        self.observe(Call::Announce, || {
            let now = self.clock.now();
            self.with_connections(scope, connections, |chat, connection| {
                let expires_at = now + lasting;
                if let Some(known) = chat.announced.get_mut(&connection.connection_id) {
                    known.expires_at = expires_at;
                    return;
                }
                let announced =
                    Announced { user_id: connection.user_id.clone(), since: now, expires_at };
                chat.announced.insert(connection.connection_id.clone(), announced);
                self.notify_presence(chat);
            });
            Ok(())
        })
        .await
    }

    async fn withdraw(&self, scope: &Scope, connections: &[Connection]) -> Result<(), StoreError> {
        self.observe(Call::Withdraw, || {
            self.with_connections(scope, connections, |chat, connection| {
                if chat.announced.remove(&connection.connection_id).is_some() {
                    self.notify_presence(chat);
                }
            });
            Ok(())
        })
        .await
    }

    async fn presence(&self, scope: &Scope, chat_id: &ChatId) -> Result<ChatPresence, StoreError> {
        self.observe(Call::Presence, || {
            self.with_chat(scope, chat_id, |chat| {
                if chat.announced.is_empty() {
                    return Ok(ChatPresence::default());
                }
                let now = self.clock.now();
                // No other task removes expired announcements.
                chat.announced.retain(|_, announced| announced.expires_at > now);
                let announced = chat.announced.values().cloned();
                Ok(ChatPresence::at(now, announced, &chat.participants))
            })
        })
        .await
    }
}

impl MemoryStore {
    fn with_connections(
        &self,
        scope: &Scope,
        connections: &[Connection],
        mut work: impl FnMut(&mut Chat, &Connection),
    ) {
        let mut chats = self.chats();
        for connection in connections {
            let chat = chats.get_mut(&connection.chat_id);
            if let Some(chat) = chat.filter(|chat| chat.permits(scope)) {
                work(chat, connection);
            }
        }
    }
}
