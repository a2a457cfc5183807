//! What finding messages by their ids costs.

use bson::{Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use persistence::{Forks, Messages};
use records::{ChatId, EventId, NewFork};

use super::database::Database;
use super::faults::{chat, numbered, scope};

/// How many messages are appended at once; each batch gets a segment of its own.
const BATCH: usize = 200;

/// Finds messages with the profiler on. Returns the sequences, and the queries on the segments.
async fn found_profiled(
    database: &Database,
    chat_id: &ChatId,
    ids: &[&str],
) -> (Vec<Option<u64>>, Vec<Document>) {
    let ids: Vec<_> = ids.iter().map(|id| EventId::parse(*id).unwrap()).collect();
    let profile = database.raw.collection::<RawDocumentBuf>("system.profile");
    profile.drop().await.unwrap();
    database.raw.run_command(doc! { "profile": 2 }).await.unwrap();
    let found = database.find_messages(&scope(), chat_id, &ids).await.unwrap();
    database.raw.run_command(doc! { "profile": 0 }).await.unwrap();
    let of_segments = doc! { "ns": { "$regex": "\\.chat_segments$" } };
    let queries: Vec<_> = profile.find(of_segments).await.unwrap().try_collect().await.unwrap();
    (found, queries.iter().map(|raw| Document::try_from(&**raw).unwrap()).collect())
}

fn assert_indexed(queries: &[Document], documents: i32) {
    let [query] = queries else { panic!("not one query: {queries:?}") };
    let plan = query.get_str("planSummary").unwrap();
    assert!(plan.starts_with("IXSCAN { app_id: 1, _id.chat_id: 1, messages.event_id: 1"), "{plan}");
    assert_eq!(query.get_i32("docsExamined").unwrap(), documents, "{query}");
}

#[tokio::test]
async fn a_sealed_message_is_found_by_its_id_through_an_index() {
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    for batch in 0..20 {
        let messages = numbered(&format!("evt_{batch}"), BATCH);
        database.append(&scope(), &chat_id, messages).await.unwrap();
    }
    let sequence = Some(3 * BATCH as u64 + 7);
    let fork = NewFork::default();
    let fork = database.fork_chat(&scope(), &chat_id, fork).await.unwrap().chat_id;
    database.append(&scope(), &fork, numbered("own", BATCH)).await.unwrap();
    for chat_id in [&chat_id, &fork] {
        let (found, queries) = found_profiled(&database, chat_id, &["evt_3_7"]).await;
        assert_eq!(found, [sequence]);
        assert_indexed(&queries, 1);
        let (found, queries) = found_profiled(&database, chat_id, &["nobody"]).await;
        assert_eq!(found, [None]);
        assert_indexed(&queries, 0);
        let ids = ["evt_3_7", "nobody", "evt_3_8", "evt_17_0"];
        let (found, queries) = found_profiled(&database, chat_id, &ids).await;
        let later = Some(17 * BATCH as u64);
        assert_eq!(found, [sequence, None, sequence.map(|it| it + 1), later]);
        assert_indexed(&queries, 2);
    }
}
