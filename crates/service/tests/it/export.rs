//! The export of what is stored about a person.

use std::sync::Arc;

use futures::TryStreamExt as _;
use persistence::memory::MemoryStore;
use persistence::{ChatSessions as _, Forks as _, Messages as _, Purges as _};
use records::{
    Actor, AppId, Author, ChatId, Clock as _, MessageBody, MessageEdit, NewChatSession, NewFork,
    NewMessage, Scope, SystemClock, UserId, WorkflowName,
};
use serde_json::{Value, json};
use service::Exported;

/// Creates a chat in which ada has said something, and an agent something about her, and a fork of it that another user owns.
async fn forked_chat(store: &MemoryStore, scope: &Scope, owner: &str) -> (ChatId, ChatId) {
    let new = NewChatSession {
        user_id: UserId::parse(owner).ok(),
        ..NewChatSession::of(WorkflowName::parse("Generator").unwrap())
    };
    let chat_id = store.create_chat(scope, new).await.unwrap().chat_id;
    let author = Author { user_id: UserId::parse("ada").unwrap(), display_name: None };
    let said = NewMessage {
        author: Some(author),
        ..MessageBody::new("user", None, format!("said in {owner}")).into()
    };
    let about = MessageBody::new("assistant", None, format!("about ada in {owner}"));
    store.append(scope, &chat_id, vec![said, about.into()]).await.unwrap();
    let fork = NewFork { user_id: UserId::parse("carl").ok(), ..NewFork::default() };
    let fork = store.fork_chat(scope, &chat_id, fork).await.unwrap().chat_id;
    (chat_id, fork)
}

async fn exported(store: &Arc<MemoryStore>, app_id: &AppId) -> Vec<Value> {
    let (store, ada) = (Arc::<MemoryStore>::clone(store), UserId::parse("ada").unwrap());
    let lines = service::export(store, app_id.clone(), ada, SystemClock.now());
    let lines = lines.try_filter_map(async |line| {
        let Exported::Line(line) = line else { return Ok(None) };
        Ok(Some(serde_json::from_str(&line)?))
    });
    lines.try_collect().await.unwrap()
}

/// Returns what the exported messages of a chat say.
fn said_in<'a>(lines: &'a [Value], chat_id: &ChatId) -> Vec<&'a Value> {
    let messages = lines.iter().filter(|line| line["record"] == "message");
    let messages = messages.filter(|line| line["chat_id"] == chat_id.as_str());
    messages.map(|line| &line["message"]["content"]).collect()
}

#[tokio::test]
async fn an_export_has_what_only_forks_still_show() {
    let store = Arc::new(MemoryStore::default());
    let app_id = AppId::parse("acme_corp").unwrap();
    let scope = Scope::service(app_id.clone());
    let (own, of_own) = forked_chat(&store, &scope, "ada").await;
    let (edited, of_edited) = forked_chat(&store, &scope, "bob").await;
    let (purged, of_purged) = forked_chat(&store, &scope, "dora").await;
    let lines = exported(&store, &app_id).await;
    assert_eq!(said_in(&lines, &of_own), ["said in ada"], "the chat itself has the rest");

    for sequence in [0, 1] {
        store.delete_message(&scope, &own, sequence).await.unwrap();
    }
    let edit = MessageEdit { content: Some("edited".into()), ..MessageEdit::default() };
    store.update_message(&scope, &edited, 0, edit).await.unwrap();
    store.purge_chat(&Actor::command_line(), &scope, &purged, None).await.unwrap();
    let lines = exported(&store, &app_id).await;
    assert_eq!(said_in(&lines, &own), [&json!(null), &json!(null)]);
    assert_eq!(said_in(&lines, &of_own), ["said in ada", "about ada in ada"]);
    assert_eq!(said_in(&lines, &edited), ["edited"]);
    assert_eq!(said_in(&lines, &of_edited), ["said in bob"]);
    assert_eq!(said_in(&lines, &of_purged), ["said in dora"]);
    let end = lines.last().unwrap();
    assert_eq!((&end["record"], &end["chats"]), (&json!("end"), &json!(5)));
}
