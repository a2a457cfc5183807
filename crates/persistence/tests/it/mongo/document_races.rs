//! Deletions of documents whose chat is deleted at the same moment.

use bson::doc;
use persistence::{AppDocuments as _, ChatSessions as _, DocumentFilter, PutCondition};
use records::{DocumentPath, Lifecycle, NewDocument, SessionChange, StatedBinding};

use super::faults::{self, FailPoint, chat, scope};

/// How long the deletion of the documents waits, while its transaction is open.
const DELETION_WAIT_MS: i64 = 2_000;

#[tokio::test]
async fn the_documents_of_a_chat_that_is_deleted_meanwhile_stay() {
    let (server, database) = faults::database().await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let chat_id = chat(&database).await;
    let binding = StatedBinding { chat_id: Some(chat_id.clone()), ..StatedBinding::default() };
    for (name, bytes) in [("ns/small", 1), ("ns/large", 700_000)] {
        let new = NewDocument {
            binding: binding.clone(),
            content_type: "text/plain".to_owned(),
            content: vec![0; bytes],
            lifetime: None,
        };
        let path = DocumentPath::parse(name).unwrap();
        database.put_document(&scope(), &path, new, PutCondition::NEW).await.unwrap();
    }
    let before = database.all("document_parts").await;
    let filter = DocumentFilter {
        namespace: DocumentPath::parse("ns").ok(),
        with_content: true,
        ..DocumentFilter::default()
    };
    let documents = database.list_documents(&scope(), &filter, 9, None).await.unwrap();
    let wait = doc! {
        "failCommands": ["delete"],
        "namespace": format!("{}.documents", database.raw.name()),
        "appName": "under-test",
        "blockConnection": true,
        "blockTimeMS": DELETION_WAIT_MS,
    };
    let point = FailPoint::set(&client, "failCommand", doc! { "times": 1 }, wait).await;
    let (store, these) = (database.store.clone(), filter.clone());
    let deleting =
        tokio::spawn(async move { store.delete_documents(&scope(), &these, 9).await.unwrap() });
    while !point.is_hit().await {}
    let gone = SessionChange::to_lifecycle(Lifecycle::Deleted);
    database.change_chat(&scope(), &chat_id, gone).await.unwrap();
    let deletion = deleting.await.unwrap();
    assert_eq!((deletion.deleted, deletion.has_more), (0, false));
    let active = SessionChange::to_lifecycle(Lifecycle::Active);
    database.change_chat(&scope().finding_deleted(), &chat_id, active).await.unwrap();
    assert_eq!(
        database.list_documents(&scope(), &filter, 9, None).await.unwrap().documents,
        documents.documents
    );
    assert_eq!(database.all("document_parts").await, before);
}
