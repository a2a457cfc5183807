//! Chats that are restored while a call finds out why it did not find them.

use bson::{RawDocumentBuf, doc};
use persistence::ChatSessions;
use records::{
    Caller, FieldChange, Lifecycle, NewChatSession, Permission, Scope, SessionChange, UserId,
    WorkflowName,
};

use super::faults::{self, FailPoint, database};

#[tokio::test]
async fn a_chat_that_is_restored_before_the_reason_is_found_is_tried_again() {
    let (server, database) = database().await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let user_id = UserId::parse("owner").unwrap();
    let new = NewChatSession {
        user_id: Some(user_id.clone()),
        ..NewChatSession::of(WorkflowName::parse("Generator").unwrap())
    };
    let chat_id = database.create_chat(&faults::scope(), new).await.unwrap().chat_id;
    let owner = Caller::User { user_id, team_id: None, may_run: false };
    let scope = Scope::new(faults::scope().app_id, owner, Permission::Manage);
    let delete = SessionChange::to_lifecycle(Lifecycle::Deleted);
    database.change_chat(&scope, &chat_id, delete).await.unwrap();

    // The first read does not find the chat; the next ones look for the reason.
    let slow = doc! {
        "failCommands": ["find"],
        "appName": "under-test",
        "blockConnection": true,
        "blockTimeMS": 500,
    };
    let point = FailPoint::set(&client, "failCommand", doc! { "skip": 1 }, slow).await;
    let restore = async {
        while !point.is_hit().await {}
        let sessions =
            client.database(database.raw.name()).collection::<RawDocumentBuf>("chat_sessions");
        let active = doc! { "$unset": { "lifecycle": "", "lifecycle_at": "" } };
        sessions.update_one(doc! { "_id": chat_id.as_str() }, active).await.unwrap();
        point.off().await
    };
    let title = FieldChange::Set("after".to_owned());
    let rename = SessionChange { title, ..SessionChange::default() };
    let (renamed, hits) = tokio::join!(database.change_chat(&scope, &chat_id, rename), restore);
    assert_eq!(renamed.unwrap().title.as_deref(), Some("after"));
    assert!(hits > 0);
}
