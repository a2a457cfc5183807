//! The registry of apps: who manages it, and which requests it refuses.

use std::sync::Arc;

use insta::assert_json_snapshot;
use persistence::{Apps as _, Store};
use records::{Actor, AppId, AppStatus, FieldChange, SettingsChange, Visibility};
use serde_json::{Value, json};
use service::{AppSettings, AppsConfig, Config, router};

use crate::harness::{Client, memory};
use crate::tokens::{client, hs256, token};

fn config(require_registered: bool, cache_ms: u64) -> Config {
    Config {
        apps: AppsConfig { require_registered, cache_ms, ..AppsConfig::default() },
        ..Config::default()
    }
}

#[tokio::test]
async fn an_app_is_registered_listed_disabled_and_enabled() {
    let client = Client::open();
    let registered = client.put("/api/apps/acme_corp", json!({})).await;
    assert_json_snapshot!("registered", registered.snapshot());
    assert_eq!(client.get("/api/apps/acme_corp").await.text, registered.text);
    assert_eq!(client.put("/api/apps/acme_corp", json!({})).await.text, registered.text);
    let disabled = client.poke("/api/apps/acme_corp/disable").await;
    assert_json_snapshot!("disabled", disabled.snapshot());
    assert_eq!(client.poke("/api/apps/acme_corp/disable").await.text, disabled.text);
    let enabled = client.poke("/api/apps/acme_corp/enable").await;
    assert_eq!(enabled.body()["status"], "enabled");
    client.put("/api/apps/beta", json!({})).await;
    let first = client.get("/api/apps?limit=1").await;
    assert_json_snapshot!("apps", first.snapshot());
    let second = client.get("/api/apps?limit=1&cursor=acme_corp").await.body();
    assert_eq!(second["data"][0]["app_id"], "beta");
    assert!(second["next_cursor"].is_null());
}

#[tokio::test]
async fn an_app_that_is_not_registered_is_not_found() {
    let client = Client::open();
    assert_json_snapshot!("app_not_found", client.get("/api/apps/acme_corp").await.snapshot());
    for verb in ["disable", "enable"] {
        let answer = client.poke(&format!("/api/apps/acme_corp/{verb}")).await;
        assert_eq!(answer.problem(), (404, "app-not-found".to_owned()));
    }
    let change = json!({"settings": {"users_may_run": true}});
    let answer = client.patch("/api/apps/acme_corp", change).await;
    assert_eq!(answer.problem(), (404, "app-not-found".to_owned()));
    let answer = client.put("/api/apps/a.b", json!({})).await;
    assert_eq!(answer.problem(), (400, "invalid-app-id".to_owned()));
}

#[tokio::test]
async fn only_operators_manage_the_registry() {
    let unauthenticated = client(hs256());
    let operator = unauthenticated.with_token(token(&json!({"role": "operator", "apps": ["*"]})));
    assert_eq!(operator.put("/api/apps/acme_corp", json!({})).await.status, 200);
    assert_eq!(operator.get("/api/chats/acme_corp").await.status, 403, "it is no role for chats");
    for role in ["service", "admin", "Operator"] {
        let other = unauthenticated.with_token(token(&json!({"role": role, "apps": ["*"]})));
        for answer in [
            other.get("/api/apps").await,
            other.get("/api/apps/acme_corp").await,
            other.put("/api/apps/other", json!({})).await,
            other.patch("/api/apps/acme_corp", json!({"settings": {}})).await,
            other.poke("/api/apps/acme_corp/disable").await,
            other.poke("/api/apps/acme_corp/enable").await,
        ] {
            assert_eq!(answer.problem(), (403, "forbidden-role".to_owned()), "{role}");
        }
    }
    assert_eq!(operator.get("/api/apps").await.body()["data"].as_array().unwrap().len(), 1);
}

/// A call of each kind of route to the app.
async fn calls(client: &Client) -> Vec<(u16, String)> {
    let chat = json!({"workflow_name": "Generator"});
    let consume = json!({"app_id": "acme_corp", "amount": 1});
    let answers = [
        client.get("/api/chats/acme_corp").await,
        client.post("/api/chats/acme_corp", chat).await,
        client.get("/api/chats/acme_corp/c1").await,
        client.get("/api/chats/acme_corp/c1/history").await,
        client.poke("/api/chats/acme_corp/c1/complete").await,
        client.get("/api/wallets/acme_corp/alice").await,
        client.poke("/api/wallets/acme_corp/alice/ensure").await,
        client.get("/api/tokens/alice/balance?app_id=acme_corp").await,
        client.post("/api/tokens/alice/consume", consume).await,
    ];
    answers.iter().map(crate::harness::Answer::problem).collect()
}

#[tokio::test]
async fn a_disabled_app_is_refused_on_every_route_and_keeps_its_data() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    client.put("/api/apps/acme_corp", json!({})).await;
    client.poke("/api/apps/acme_corp/disable").await;
    assert_json_snapshot!("app_disabled", client.get(&chat).await.snapshot());
    for problem in calls(&client).await {
        assert_eq!(problem, (403, "app-disabled".to_owned()));
    }
    client.poke("/api/apps/acme_corp/enable").await;
    assert_eq!(client.get(&chat).await.status, 200);
}

#[tokio::test]
async fn an_unregistered_app_is_invalid_where_registration_is_required() {
    let client = Client::over(memory(), config(true, 3_000));
    assert_json_snapshot!("unknown_app", client.get("/api/chats/acme_corp").await.snapshot());
    for problem in calls(&client).await {
        assert_eq!(problem, (400, "invalid-app-id".to_owned()));
    }
    client.put("/api/apps/acme_corp", json!({})).await;
    client.create_chat("c1").await;
}

/// Another process disables the app: a process that has cached the status uses it, any other asks the store.
#[tokio::test]
async fn the_status_of_an_app_is_cached_for_as_long_as_configured() {
    let store = memory();
    let app_id = AppId::parse("acme_corp").unwrap();
    store.register_app(&Actor::command_line(), &app_id).await.unwrap();
    let shared = || Arc::clone(&store) as Arc<dyn Store>;
    let remembering = Client::over(shared(), config(true, 60_000));
    let forgetful = Client::over(shared(), config(true, 0));
    for client in [&remembering, &forgetful] {
        assert_eq!(client.get("/api/chats/acme_corp").await.status, 200);
    }
    store.set_app_status(&Actor::command_line(), &app_id, AppStatus::Disabled).await.unwrap();
    assert_eq!(remembering.get("/api/chats/acme_corp").await.status, 200);
    assert_eq!(forgetful.get("/api/chats/acme_corp").await.status, 403);
}

#[tokio::test]
async fn settings_of_an_app_are_set_kept_and_reset() {
    let client = Client::open();
    let path = "/api/apps/acme_corp";
    client.put(path, json!({})).await;
    let all = json!({
        "default_visibility": "team", "users_may_run": true, "support_access": false,
        "completed_days": 90, "failed_days": 0, "abandoned_days": 36_500, "deleted_days": 7,
        "tool_run_days": 14, "archive_after_days": 21, "metadata_keys": ["$where", "customer"],
    });
    let updated = client.patch(path, json!({"settings": all})).await;
    assert_json_snapshot!("updated", updated.snapshot());
    let settings = async |change| client.patch(path, change).await.body()["settings"].clone();
    assert_eq!(settings(json!({"settings": {}})).await, all);
    let reset = json!({"settings": {
        "default_visibility": null, "users_may_run": false, "completed_days": null,
        "metadata_keys": null,
    }});
    let expected = json!({
        "default_visibility": null, "users_may_run": false, "support_access": false,
        "completed_days": null, "failed_days": 0, "abandoned_days": 36_500, "deleted_days": 7,
        "tool_run_days": 14, "archive_after_days": 21, "metadata_keys": null,
    });
    let refused = client.patch(path, json!({"settings": {"deleted_days": 36_501}})).await;
    assert_eq!((refused.status, &*refused.culprit()), (422, "/settings/deleted_days"));
    assert_eq!(settings(reset.clone()).await, expected);
    let stored = client.get(path).await;
    assert_eq!(client.patch(path, reset).await.text, stored.text, "a repeat changes nothing");
    assert_eq!(client.get("/api/apps").await.body()["data"][0], stored.body());
    for (body, culprit) in [
        (json!({"settings": {"default_visibility": "public"}}), "/settings/default_visibility"),
        (json!({"settings": {"users_may_run": "yes"}}), "/settings/users_may_run"),
        (json!({"settings": {"owner": true}}), "/settings/owner"),
        (json!({"settings": {"metadata_keys": "customer"}}), "/settings/metadata_keys"),
        (json!({"settings": {"metadata_keys": ["a", "a"]}}), "/settings/metadata_keys"),
        (json!({"settings": {"metadata_keys": ["a\0"]}}), "/settings/metadata_keys"),
        (json!({"settings": {"metadata_keys": [""]}}), "/settings/metadata_keys"),
        (json!({"settings": {"metadata_keys": ["a".repeat(65)]}}), "/settings/metadata_keys"),
        (
            json!({"settings": {"metadata_keys": ["1", "2", "3", "4", "5", "6", "7", "8", "9"]}}),
            "/settings/metadata_keys",
        ),
        (json!({"status": "disabled"}), "/status"),
        (json!({"settings": null}), "/settings"),
        (json!({}), ""),
    ] {
        let refused = client.patch(path, body).await;
        assert_eq!(refused.problem(), (422, "invalid-request".to_owned()), "{culprit}");
        assert_eq!(refused.culprit(), culprit);
    }
}

/// The settings of the service are the opposite of those of the app.
#[tokio::test]
async fn settings_of_an_app_replace_those_of_the_service() {
    let own = json!({"default_visibility": "link", "users_may_run": true, "support_access": true});
    let settings = AppSettings::default();
    check_settings(settings, &own, ("link", true, true)).await;
    check_settings(settings, &json!({}), ("private", false, false)).await;
    let settings = AppSettings {
        default_visibility: Visibility::Link,
        users_may_run: true,
        support_access: true,
        ..AppSettings::default()
    };
    let own =
        json!({"default_visibility": "private", "users_may_run": false, "support_access": false});
    check_settings(settings, &own, ("private", false, false)).await;
    check_settings(settings, &json!({"users_may_run": false}), ("link", false, true)).await;
}

/// Checks what holds in an app with these settings, in a service with those.
async fn check_settings(
    settings: AppSettings,
    own: &Value,
    (visibility, users_may_run, support_access): (&str, bool, bool),
) {
    let apps = AppsConfig { settings, ..AppsConfig::default() };
    let config = Config { apps, auth: hs256(), ..Config::default() };
    let client = Client::over(memory(), config);
    let of = |claims: &Value| client.with_token(token(claims));
    let alice = of(&json!({"sub": "alice"}));
    // The service has cached the app before its settings change.
    assert_eq!(alice.get("/api/chats/acme_corp").await.status, 200);
    let operator = of(&json!({"sub": "olga", "role": "operator"}));
    operator.put("/api/apps/acme_corp", json!({})).await;
    let changed = operator.patch("/api/apps/acme_corp", json!({"settings": own})).await;
    assert_eq!(changed.status, 200, "{}", changed.text);

    let chat = json!({"chat_id": "c1", "workflow_name": "Generator"});
    let created = alice.post("/api/chats/acme_corp", chat).await;
    assert_eq!(created.text_of("visibility"), visibility);
    let spoken = json!({"role": "assistant", "content": "done"});
    let run = alice.post("/api/chats/acme_corp/c1/messages", spoken).await;
    assert_eq!(run.status, if users_may_run { 201 } else { 403 }, "{}", run.text);
    let support = of(&json!({"sub": "sue", "role": "support"}));
    let read = support.get("/api/chats/acme_corp/c1").await;
    assert_eq!(read.status, if support_access { 200 } else { 403 }, "{}", read.text);
}

/// Another process changes the settings.
#[tokio::test]
async fn the_settings_of_an_app_are_cached_like_its_status() {
    let store = memory();
    let app_id = AppId::parse("acme_corp").unwrap();
    store.register_app(&Actor::command_line(), &app_id).await.unwrap();
    let shared = || Arc::clone(&store) as Arc<dyn Store>;
    let over = |cache_ms| {
        let client = Client::over(shared(), Config { auth: hs256(), ..config(false, cache_ms) });
        client.with_token(token(&json!({"sub": "sue", "role": "support"})))
    };
    let (remembering, forgetful) = (over(60_000), over(0));
    for client in [&remembering, &forgetful] {
        assert_eq!(client.get("/api/chats/acme_corp").await.status, 403);
    }
    let support_access = FieldChange::Set(true);
    let change = SettingsChange { support_access, ..SettingsChange::default() };
    store.update_app(&Actor::command_line(), &app_id, change).await.unwrap();
    assert_eq!(remembering.get("/api/chats/acme_corp").await.status, 403);
    assert_eq!(forgetful.get("/api/chats/acme_corp").await.status, 200);
}

#[test]
fn a_status_cannot_be_cached_for_ever() {
    let refusal = router(memory(), config(false, 60_001)).unwrap_err();
    assert_eq!(refusal.to_string(), "apps.cache_ms is 60001: it must be from 0 to 60000");
}
