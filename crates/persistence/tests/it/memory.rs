//! The memory store keeps the contract.

use std::future::{Ready, pending, ready};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use persistence::memory::{Faults, MemoryStore};
use persistence::metrics::Call;
use persistence::{ChatFilter, ChatSessions, Store, StoreError};
use records::{AppId, Message, NewChatSession, Scope, WorkflowName};
use store_contract::metrics::count;

store_contract::contract_tests!(memory);

fn memory() -> Ready<(Arc<dyn Store>, ())> {
    ready((Arc::new(MemoryStore::default()), ()))
}

/// Hangs on a ping, and refuses to create a chat.
#[derive(Debug)]
struct HangOrRefuse;

#[async_trait]
impl Faults for HangOrRefuse {
    async fn before(&self, call: Call) -> Result<(), StoreError> {
        match call {
            Call::Ping => pending().await,
            Call::CreateChat => Err(StoreError::Overloaded { retry_after: Duration::from_secs(1) }),
            _ => Ok(()),
        }
    }

    fn history<'a>(
        &'a self,
        stored: BoxStream<'a, Result<Message, StoreError>>,
    ) -> BoxStream<'a, Result<Message, StoreError>> {
        stored
    }
}

#[tokio::test]
async fn an_injected_fault_is_returned_and_counted() {
    let store = MemoryStore::default().with_faults(Arc::new(HangOrRefuse));
    tokio::time::timeout(Duration::from_millis(20), store.ping()).await.unwrap_err();
    let scope = Scope::service(AppId::parse("acme_corp").unwrap());
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    let refused = store.create_chat(&scope, new).await.unwrap_err();
    assert!(matches!(refused, StoreError::Overloaded { .. }), "{refused:?}");
    let listed = store.list_chats(&scope, &ChatFilter::default(), 10, None).await.unwrap();
    assert_eq!(listed.chats, [], "the refused call changed nothing");
    let calls = |call, outcome| count(&store, "reprise_store_calls_total", &[call, outcome]);
    assert_eq!(calls("ping", "cancelled"), 1);
    assert_eq!(calls("create_chat", "overloaded"), 1);
    assert_eq!(calls("list_chats", "ok"), 1);
    assert_eq!(count(&store, "reprise_store_calls_total", &[]), 3);
}
