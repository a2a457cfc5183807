//! Presence with several stores, with a clock that the test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bson::doc;
use chrono::{DateTime, Utc};
use futures::{StreamExt as _, TryStreamExt as _};
use persistence::mongo::MongoStore;
use persistence::{Change, Changes, Interest, Messages, Presence};
use records::{Clock, Connection, ConnectionId, Ids as _, UserId, Uuid7Ids};
use tokio::time::timeout;

use super::database::Database;
use super::faults::{chat, message, scope};

const LASTING: Duration = Duration::from_secs(45);
const MAX_WAIT: Duration = Duration::from_secs(30);

/// A clock that the test sets.
#[derive(Debug)]
struct SetClock(AtomicI64);

impl SetClock {
    fn advance(&self, milliseconds: i64) {
        self.0.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

impl Clock for SetClock {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0.load(Ordering::Relaxed)).unwrap()
    }
}

pub(super) fn connection(chat_id: &records::ChatId, user_id: &str) -> Connection {
    Connection {
        connection_id: ConnectionId::parse(Uuid7Ids.mint("conn_")).unwrap(),
        chat_id: chat_id.clone(),
        user_id: UserId::parse(user_id).unwrap(),
    }
}

/// Expiry does not depend on when the server removes documents.
#[tokio::test]
async fn an_announcement_that_is_not_renewed_expires() {
    // The time is far in the future, so that the server removes nothing by itself.
    let clock = Arc::new(SetClock(AtomicI64::new(7_000_000_000_000)));
    let database =
        Database::create_from(Arc::<SetClock>::clone(&clock), Arc::new(Uuid7Ids), |_| {}).await;
    let chat_id = chat(&database).await;
    let (alice, bob) = (connection(&chat_id, "alice"), connection(&chat_id, "bob"));
    let users = async || {
        let presence = database.presence(&scope(), &chat_id).await.unwrap();
        let users: Vec<_> = presence.present.iter().map(|of| of.user_id.to_string()).collect();
        (users.join(" "), presence.lasting)
    };
    database.announce(&scope(), &[alice.clone(), bob], LASTING).await.unwrap();
    clock.advance(44_999);
    assert_eq!(users().await, ("alice bob".to_owned(), Some(Duration::from_millis(1))));
    database.announce(&scope(), &[alice], LASTING).await.unwrap();
    clock.advance(1);
    assert_eq!(users().await, ("alice".to_owned(), Some(Duration::from_millis(44_999))));
    clock.advance(44_999);
    assert_eq!(users().await, (String::new(), None));
    assert_eq!(database.all("presence").await.len(), 2, "presence must not depend on the removal");
}

#[tokio::test]
async fn expired_announcements_are_removed() {
    let database = Database::create().await;
    let presence = database.raw.collection::<bson::RawDocumentBuf>("presence");
    let indexes: Vec<_> = presence.list_indexes().await.unwrap().try_collect().await.unwrap();
    let sweeping = indexes.iter().find(|index| index.keys == doc! { "expires_at": 1 }).unwrap();
    let options = sweeping.options.as_ref().unwrap();
    assert_eq!(options.expire_after, Some(Duration::ZERO));
}

/// The server notifies of new and withdrawn announcements, but not of renewed ones.
#[tokio::test]
async fn an_announcement_of_another_store_is_notified_once() {
    let database = Database::create().await;
    let other = MongoStore::connect(&database.options).await.unwrap();
    let chat_id = chat(&database).await;
    let mut changes = database.changes(Interest::in_all_chats());
    let mut next = async || timeout(MAX_WAIT, changes.next()).await.unwrap().unwrap();
    while next().await != Change::Began {}
    let crowd = [connection(&chat_id, "alice"), connection(&chat_id, "bob")];
    for _ in 0..5 {
        other.announce(&scope(), &crowd, LASTING).await.unwrap();
    }
    other.append(&scope(), &chat_id, message(None)).await.unwrap();
    let mut told = 0;
    loop {
        match next().await {
            Change::Presence(of) => {
                assert_eq!(of, chat_id);
                told += 1;
            }
            Change::Chat(_) => break,
            change => panic!("{change:?}"),
        }
    }
    assert_eq!(told, 2);
    other.withdraw(&scope(), &crowd).await.unwrap();
    assert_eq!(next().await, Change::Presence(chat_id));
}
