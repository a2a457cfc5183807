//! Many messages appended at once lie in the chat as if they had come one by one, whatever is sealed
//! meanwhile.

use std::collections::HashSet;

use futures::future::try_join_all;
use persistence::mongo::{Interruption, MongoStore};
use persistence::{MessageRange, Messages, StoreError};
use records::ChatId;

use super::database::Database;
use super::faults::{chat, message, numbered, scope};

/// Appends many and few in turn; returns the ids with the sequences they were given.
async fn write(
    store: &MongoStore,
    chat_id: &ChatId,
    writer: usize,
) -> Result<Vec<(String, u64)>, StoreError> {
    let mut given = Vec::new();
    for round in 0..12 {
        let count = [20, 1, 3][round % 3];
        let messages = numbered(&format!("evt_{writer}_{round}"), count);
        let append = store.append(&scope(), chat_id, messages).await?;
        let messages = append.messages.into_iter();
        given.extend(messages.map(|message| (message.event_id.to_string(), message.sequence)));
    }
    Ok(given)
}

async fn event_ids(database: &Database, chat_id: &ChatId) -> Vec<String> {
    let page = database.messages(&scope(), chat_id, MessageRange::all()).await.unwrap();
    assert_eq!(page.last_sequence, page.messages.len() as u64);
    page.messages.into_iter().map(|message| message.event_id.to_string()).collect()
}

#[tokio::test]
async fn large_and_small_appends_of_two_processes_make_one_run() {
    let database = Database::create().await;
    let other = MongoStore::connect(&database.options).await.unwrap();
    let chat_id = chat(&database).await;
    let stores = [&database.store, &other];
    let writers = (0..6).map(|writer| write(stores[writer % 2], &chat_id, writer));
    let given = try_join_all(writers).await.unwrap().concat();
    let found = event_ids(&database, &chat_id).await;
    assert_eq!(found.len(), 6 * 4 * (20 + 1 + 3));
    assert_eq!(found.iter().collect::<HashSet<_>>().len(), found.len());
    for (event_id, sequence) in given {
        assert_eq!(found[usize::try_from(sequence).unwrap()], event_id);
    }
}

#[tokio::test]
async fn a_large_append_goes_on_after_an_unfinished_sealing() {
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    let mut expected = Vec::new();
    for round in 0..3 {
        for index in 0..7 {
            let event_id = format!("single_{round}_{index}");
            database.append(&scope(), &chat_id, message(Some(&event_id))).await.unwrap();
            expected.push(event_id);
        }
        let app_id = scope().app_id;
        database.seal(&app_id, &chat_id, Interruption::AfterSegment).await.unwrap();
        let many = numbered(&format!("many_{round}"), 20);
        expected.extend(many.iter().flat_map(|message| &message.event_id).map(ToString::to_string));
        database.append(&scope(), &chat_id, many).await.unwrap();
        database.seal(&app_id, &chat_id, Interruption::Never).await.unwrap();
        assert_eq!(event_ids(&database, &chat_id).await, expected);
    }
}
