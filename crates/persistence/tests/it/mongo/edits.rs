//! Edits that fail half way.

use bson::doc;
use persistence::mongo::Interruption;
use persistence::{Changes, Messages};
use records::MessageEdit;

use super::faults::{self, FailPoint, chat, numbered, scope};

#[tokio::test]
async fn an_edit_of_a_sealed_message_is_recorded_in_its_chat_or_not_made() {
    let (_server, database) = faults::database().await;
    let chat_id = chat(&database).await;
    database.append(&scope(), &chat_id, numbered("m", 100)).await.unwrap();
    database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
    let before = database.confirmed_head(&scope(), &chat_id).await.unwrap();
    let data = doc! {
        "failCommands": ["update"],
        "namespace": format!("{}.chat_sessions", database.options.database),
        "appName": "under-test",
        "errorCode": 91,
    };
    let twice = doc! { "times": 2 };
    let fail_point = FailPoint::set(database.raw.client(), "failCommand", twice, data).await;
    let content = Some("changed".into());
    let edit = MessageEdit { content, ..MessageEdit::default() };
    database.update_message(&scope(), &chat_id, 3, edit).await.unwrap();
    assert_eq!(fail_point.off().await, 2);
    let after = database.confirmed_head(&scope(), &chat_id).await.unwrap();
    assert_eq!(after.edits_since(before.revision), Some(vec![(before.revision + 1, 3)]));
    let edited = database.get_message(&scope(), &chat_id, 3).await.unwrap();
    assert_eq!(edited.body.content, "changed");
}
