use std::time::Duration;

use bson::{RawDocumentBuf, doc};
use persistence::mongo::{IndexState, MongoStore};
use persistence::{Store as _, StoreError};
use tokio::time::sleep;

use super::faults::{self, FailPoint};

/// The builds of a server's indexes wait while this is set.
const BUILDS_WAIT: &str = "hangAfterStartingIndexBuild";

#[tokio::test]
async fn an_index_that_takes_longer_than_a_call_is_waited_for() {
    let (_server, database) = faults::database().await;
    faults::chat(&database).await;
    let sessions = database.raw.collection::<RawDocumentBuf>("chat_sessions");
    sessions.drop_index("cs_list_user_created").await.unwrap();
    let waiting = FailPoint::set(database.raw.client(), BUILDS_WAIT, "alwaysOn", doc! {}).await;
    let mut options = database.options.clone();
    options.deadline = Duration::from_millis(400);
    let store = MongoStore::connect(&options).await.unwrap();
    // The answer says what is not ready.
    let StoreError::Unavailable { source, .. } = store.ping().await.unwrap_err() else {
        panic!("the index cannot be there");
    };
    assert!(source.to_string().contains("cs_list_user_created"), "{source}");
    let building = tokio::spawn({
        let store = store.clone();
        async move { store.build_indexes().await }
    });
    // Some calls end meanwhile.
    sleep(Duration::from_millis(1_500)).await;
    assert!(!building.is_finished());
    waiting.off().await;
    let built = building.await.unwrap().unwrap();
    assert!(built.iter().all(|index| index.state == IndexState::Ready));
    store.ping().await.unwrap();
}
