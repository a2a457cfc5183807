//! Completions of Discobot's sessions, on a real mongod.

use anyhow::Result;
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tests::client::{APP, Client, refusal};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;

fn message(role: &str, id: &str, text: &str) -> Value {
    json!({"id": id, "role": role, "parts": [{"type": "text", "text": text}]})
}

/// Calls a route of a session.
async fn call(client: &Client, method: Method, path: &str, body: &Value) -> Result<Value> {
    let path = format!("/discobot/{APP}/sessions/s1/{path}");
    let body = Some(body).filter(|body| !body.is_null());
    Ok(client.call(method, &path, body).await?)
}

#[tokio::test]
async fn of_completions_that_begin_at_once_one_begins_and_it_ends_once() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database).with("adapters.discobot.enabled", true);
    let service = Service::start(&settings).await?;
    let client = &service.client()?;
    for round in 0..5 {
        let starts = (0..6).map(async |number| {
            let said = message("user", &format!("m{round}_{number}"), "Hello");
            call(client, Method::POST, "chat", &json!({"messages": [said]})).await
        });
        let started: Vec<_> = join_all(starts).await.into_iter().filter_map(Result::ok).collect();
        assert_eq!(started.len(), 1, "{started:?}");
        let id = started[0]["completionId"].as_str().unwrap_or_default().to_owned();
        let status = call(client, Method::GET, "chat/status", &Value::Null).await?;
        assert_eq!((&status["isRunning"], &status["completionId"]), (&json!(true), &json!(id)));

        // Of an answer, a failure and a cancellation at once, one ends the completion.
        let finish = format!("chat/{id}/finish");
        let answer = json!({"messages": [message("assistant", &format!("a{round}"), "Hi")]});
        let failure = json!({"error": "the model is away"});
        let (answered, failed, cancelled) = futures::join!(
            call(client, Method::POST, &finish, &answer),
            call(client, Method::POST, &finish, &failure),
            call(client, Method::POST, "chat/cancel", &Value::Null),
        );
        let ended = [&answered, &failed, &cancelled].into_iter().filter(|it| it.is_ok()).count();
        assert_eq!(ended, 1, "{answered:?} {failed:?} {cancelled:?}");
        let status = call(client, Method::GET, "chat/status", &Value::Null).await?;
        assert_eq!((&status["isRunning"], &status["completionId"]), (&json!(false), &json!(id)));
        let listed = call(client, Method::GET, "chat", &Value::Null).await?;
        let last = listed["messages"].as_array().and_then(|all| all.last()).cloned();
        let is_answer = last.is_some_and(|last| last["id"] == format!("a{round}"));
        assert_eq!(is_answer, answered.is_ok(), "{listed}");
        // What has ended stays so.
        if answered.is_err() {
            let path = format!("/discobot/{APP}/sessions/s1/{finish}");
            let late = client.call(Method::POST, &path, Some(&answer)).await;
            assert_eq!(refusal(late)?.status, 409);
        }
    }
    let cleared = call(client, Method::DELETE, "chat", &Value::Null).await?;
    assert_eq!(cleared, json!({"success": true}));
    let listed = call(client, Method::GET, "chat", &Value::Null).await?;
    assert_eq!(listed, json!({"messages": []}));
    service.stop().await
}
