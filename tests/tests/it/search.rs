//! The index of the search, with several services.

use anyhow::Result;
use persistence::mongo::{MongoOptions, MongoStore};
use persistence::{ChatSessions as _, Messages as _};
use records::{AppId, MessageBody, NewChatSession, Scope, WorkflowName};
use reqwest::Method;
use serde_json::json;
use tests::client::APP;
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::until;

#[tokio::test]
async fn a_message_is_found_whichever_process_has_stored_it() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let (one, two) = (Service::start(&settings).await?, Service::start(&settings).await?);
    let store = MongoStore::connect(&MongoOptions::new(database.uri(), database.name())).await?;
    let scope = Scope::service(AppId::parse(APP)?);
    let new = NewChatSession::of(WorkflowName::parse("Search")?);
    let chat_id = store.create_chat(&scope, new).await?.chat_id;
    let said = |word: &str| MessageBody::new("user", None, format!("please find {word}"));

    let path = format!("/api/chats/{APP}/{chat_id}/messages");
    for (service, word) in [(&one, "alpha"), (&two, "beta")] {
        let message = json!({ "role": "user", "content": said(word).content });
        service.client()?.call(Method::POST, &path, Some(&message)).await?;
    }
    // A program of its own has no index to keep.
    store.append(&scope, &chat_id, vec![said("gamma").into()]).await?;
    for service in [&one, &two] {
        for word in ["alpha", "beta", "gamma"] {
            is_found(service, word).await?;
        }
    }
    // One of the two was the leader. Whichever is left finds everything, at the latest after a while.
    one.kill().await?;
    store.append(&scope, &chat_id, vec![said("delta").into()]).await?;
    is_found(&two, "delta").await?;
    let three = Service::start(&settings).await?;
    two.kill().await?;
    store.append(&scope, &chat_id, vec![said("epsilon").into()]).await?;
    is_found(&three, "epsilon").await?;
    three.stop().await
}

async fn is_found(service: &Service, word: &str) -> Result<()> {
    let client = service.client()?;
    until(&format!("{word} to be found"), async || {
        let found = client.call(Method::GET, &format!("/api/search/{APP}?q={word}"), None).await?;
        Ok((found["data"] != json!([])).then_some(()))
    })
    .await
}
