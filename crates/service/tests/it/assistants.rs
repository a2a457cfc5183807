use insta::assert_json_snapshot;
use serde_json::{Value, json};
use service::{AppSettings, AppsConfig, Config};

use crate::harness::{Answer, Client, memory};
use crate::tokens::{hs256, limits, token};

const ASSISTANTS: &str = "/api/assistants/acme_corp";

fn weather() -> Value {
    json!({
        "name": "Weather Assistant",
        "description": "{{d}}",
        "avatar": "https://example.com/weather.png",
        "tags": ["weather", "{{t}}"],
        "connector": "deepseek.v3",
        "modes": ["chat", "task"],
        "default_mode": "chat",
        "sort": 3,
        "mentionable": true,
        "locales": {"de": {"name": "Wetter", "d": "Regen und Sonne", "t": "wetter"}},
        "config": {"temperature": 0.5, "$date": {"a.b": null}},
    })
}

fn at(id: &str) -> String {
    format!("{ASSISTANTS}/{id}")
}

fn ids(listed: &Answer) -> Vec<String> {
    assert_eq!(listed.status, 200, "{}", listed.text);
    let body = listed.body();
    let data = body["data"].as_array().unwrap();
    data.iter().map(|it| it["assistant_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn an_assistant_is_put_changed_and_deleted() {
    let client = Client::open();
    let path = at("weather");
    assert_eq!(client.get(&path).await.problem(), (404, "assistant-not-found".to_owned()));
    let put = client.put(&path, weather()).await;
    assert_eq!((put.status, &put.body()["duplicate"]), (201, &json!(false)));
    let read = client.get(&path).await;
    let mut shown = read.body();
    for time in ["created_at", "last_updated_at"] {
        shown.as_object_mut().unwrap().shift_remove(time).unwrap();
    }
    assert_json_snapshot!("assistant", shown);
    assert_eq!(read.header("etag"), put.header("etag"));
    let again = client.put(&path, weather()).await;
    assert_eq!((again.status, &again.body()["version"]), (200, &json!(1)));
    let changed = client.patch(&path, json!({"description": null, "sort": 1})).await;
    assert_eq!((changed.status, &changed.body()["version"]), (200, &json!(2)));
    let shown = changed.body();
    assert_eq!((&shown["description"], &shown["sort"]), (&json!(null), &json!(1)));
    assert_eq!(shown["config"], weather()["config"]);
    for _ in 0..2 {
        assert_eq!(client.delete(&path).await.status, 204);
    }
    assert_eq!(client.get(&path).await.status, 404);
    assert_eq!(client.patch(&path, json!({"sort": 1})).await.status, 404);
}

#[tokio::test]
async fn a_write_that_depends_on_another_version_is_refused() {
    let client = Client::open();
    let path = at("weather");
    let seeing = async |method: &str, tag: &str, body: Value| {
        let request = client.request(method, &path).header("if-match", tag);
        let request = request.header("content-type", "application/json");
        client.send(request.body(body.to_string().into()).unwrap()).await
    };
    let missing = seeing("PUT", "*", weather()).await;
    assert_eq!(missing.problem(), (412, "precondition-failed".to_owned()));
    let first = client.put(&path, weather()).await.header("etag").to_owned();
    let second = seeing("PATCH", &first, json!({"sort": 8})).await;
    assert_eq!((second.status, &second.body()["version"]), (200, &json!(2)));
    for (method, body) in [("PUT", weather()), ("PATCH", json!({"sort": 9})), ("DELETE", json!({}))]
    {
        let stale = seeing(method, &first, body).await;
        assert_eq!(stale.problem(), (412, "precondition-failed".to_owned()), "{method}");
    }
    let unchanged = client.request("GET", &path).header("if-none-match", second.header("etag"));
    let unchanged = client.send(unchanged.body("".into()).unwrap()).await;
    assert_eq!(unchanged.status, 304);
    let by_filter = client.request("DELETE", &format!("{ASSISTANTS}?tags=x"));
    let by_filter = by_filter.header("if-match", "*").body("".into()).unwrap();
    assert_eq!(client.send(by_filter).await.culprit(), "If-Match");
}

#[tokio::test]
async fn assistants_are_returned_in_a_language() {
    let client = Client::open();
    client.put(&at("weather"), weather()).await;
    for (locale, name, description, tag) in [
        ("de", "Wetter", "Regen und Sonne", "wetter"),
        ("DE-at", "Wetter", "Regen und Sonne", "wetter"),
        ("fr", "Weather Assistant", "{{d}}", "{{t}}"),
    ] {
        let one = client.get(&format!("{}?locale={locale}", at("weather"))).await.body();
        let list = client.get(&format!("{ASSISTANTS}?locale={locale}")).await.body();
        for shown in [&one, &list["data"][0]] {
            assert_eq!(
                (&shown["name"], &shown["description"]),
                (&json!(name), &json!(description))
            );
            assert_eq!(shown["tags"], json!(["weather", tag]));
            assert_eq!(shown["locales"], weather()["locales"]);
        }
    }
}

#[tokio::test]
async fn assistants_are_listed_by_every_filter() {
    let client = Client::open();
    client.put(&at("weather"), weather()).await;
    let news = json!({"name": "News", "type": "robot", "tags": ["weather", "news"], "automated": true,
        "built_in": true, "user_id": "ann"});
    client.put(&at("news"), news).await;
    client.put(&at("100%25"), json!({"name": "100%"})).await;
    for (query, expected) in [
        ("", &["100%", "news", "weather"][..]),
        ("ids=weather,x,news", &["news", "weather"]),
        ("user_id=ann", &["news"]),
        ("tags=news", &["news"]),
        ("tags=news,weather", &["news", "weather"]),
        ("type=assistant", &["100%", "weather"]),
        ("type=robot,assistant", &["100%", "news", "weather"]),
        ("connector=deepseek.v3", &["weather"]),
        ("mentionable=true", &["weather"]),
        ("automated=true&built_in=true", &["news"]),
        ("built_in=false", &["100%", "weather"]),
        ("q=WETTER", &["weather"]),
        ("q=sonne", &["weather"]),
        ("q=%25", &["100%"]),
        ("q=w&tags=news", &["news"]),
    ] {
        assert_eq!(ids(&client.get(&format!("{ASSISTANTS}?{query}")).await), expected, "{query}");
    }
    let first = client.get(&format!("{ASSISTANTS}?limit=2")).await;
    assert_eq!(ids(&first), ["100%", "news"]);
    let cursor = first.text_of("next_cursor");
    let rest = client.get(&format!("{ASSISTANTS}?limit=2&cursor={cursor}")).await;
    assert_eq!(
        (ids(&rest), &rest.body()["next_cursor"]),
        (vec!["weather".to_owned()], &json!(null))
    );
    assert_json_snapshot!("tags", client.get("/api/assistant-tags/acme_corp").await.body());
    let of_news = client.get("/api/assistant-tags/acme_corp?type=robot").await.body();
    assert_eq!(of_news["data"].as_array().unwrap().len(), 2);
    for refused in ["ids=", "ids=a,,b", "mentionable=1", "tags=,", "cursor=x", "limit=0", "kind=a"]
    {
        let refused = client.get(&format!("{ASSISTANTS}?{refused}")).await;
        assert_eq!(refused.status, 422, "{}", refused.text);
    }
}

#[tokio::test]
async fn assistants_are_deleted_by_a_filter_and_never_without_one() {
    let client = Client::open();
    client.put(&at("weather"), weather()).await;
    client.put(&at("news"), json!({"name": "News", "tags": ["news"]})).await;
    assert_eq!(client.delete(ASSISTANTS).await.culprit(), "ids");
    let deleted = client.delete(&format!("{ASSISTANTS}?tags=weather")).await;
    assert_eq!((deleted.status, deleted.body()), (200, json!({"deleted": 1, "has_more": false})));
    let again = client.delete(&format!("{ASSISTANTS}?tags=weather")).await;
    assert_eq!(again.body(), json!({"deleted": 0, "has_more": false}));
    assert_eq!(ids(&client.get(ASSISTANTS).await), ["news"]);
}

#[tokio::test]
async fn an_invalid_assistant_is_refused_by_its_field() {
    let client = Client::open();
    let path = at("weather");
    client.put(&path, weather()).await;
    let large = json!("x".repeat(257 << 10));
    for (field, value, status) in [
        ("name", json!(""), 422),
        ("name", json!(null), 422),
        ("name", json!("x".repeat(513)), 422),
        ("type", json!(" a"), 422),
        ("tags", json!([""]), 422),
        ("tags", json!(vec!["t"; 65]), 422),
        ("visibility", json!("all"), 422),
        ("visibility", json!("team"), 422),
        ("locales", json!({"de": 1}), 422),
        ("config", json!([]), 422),
        ("other", json!(1), 422),
        ("avatar", large.clone(), 413),
        ("description", large.clone(), 413),
        ("locales", json!({"de": {"name": large.clone()}}), 413),
        ("config", json!({ "large": large }), 413),
    ] {
        let mut wrong = weather();
        wrong[field] = value.clone();
        let answer = client.put(&path, wrong).await;
        assert_eq!(answer.status, status, "{field} {}", answer.text);
        assert!(answer.culprit().starts_with(&format!("/{field}")), "{field} {}", answer.text);
        let is_clearing = field == "name" && value.is_null();
        if !is_clearing {
            let answer = client.patch(&path, json!({ field: value })).await;
            assert_eq!(answer.status, status, "{field} {}", answer.text);
        }
    }
    assert_eq!(client.patch(&path, json!({})).await.status, 422);
    assert_eq!(client.get(&path).await.body()["version"], 1);
}

/// Returns a client for each token of users, of support and of a service.
fn clients() -> [Client; 4] {
    let app_settings = AppSettings { support_access: true, ..AppSettings::default() };
    let apps = AppsConfig { settings: app_settings, ..AppsConfig::default() };
    let config = Config { auth: hs256(), apps, limits: limits(), ..Config::default() };
    let client = Client::over(memory(), config);
    let with = |claims: Value| client.with_token(token(&claims));
    [
        with(json!({"sub": "ann", "team": "blue"})),
        with(json!({"sub": "bob", "team": "blue"})),
        with(json!({"sub": "sue", "role": "support"})),
        with(json!({"sub": "orchestrator", "role": "service"})),
    ]
}

#[tokio::test]
async fn the_rights_of_assistants_are_those_of_chats() {
    let [ann, bob, support, service] = clients();
    let own = ann.put(&at("own"), json!({"name": "Own"})).await;
    assert_eq!((own.status, &own.body()["user_id"]), (201, &json!("ann")));
    let shared = json!({"name": "Shared", "visibility": "team", "team_id": "blue"});
    assert_eq!(ann.put(&at("shared"), shared).await.status, 201);
    assert_eq!(
        service.put(&at("app"), json!({"name": "App", "visibility": "app"})).await.status,
        201
    );
    assert_eq!(service.put(&at("hidden"), json!({"name": "Hidden"})).await.status, 201);

    assert_eq!(ids(&ann.get(ASSISTANTS).await), ["app", "own", "shared"]);
    assert_eq!(ids(&bob.get(ASSISTANTS).await), ["app", "shared"]);
    assert_eq!(ids(&service.get(ASSISTANTS).await), ["app", "hidden", "own", "shared"]);
    assert_eq!(bob.get(&at("own")).await.problem(), (404, "assistant-not-found".to_owned()));
    let name = || json!({"name": "Mine"});
    assert_eq!(bob.put(&at("own"), name()).await.problem(), (409, "assistant-taken".to_owned()));
    for path in [at("shared"), at("app")] {
        let forbidden = (403, "forbidden-permission".to_owned());
        assert_eq!(bob.put(&path, name()).await.problem(), forbidden);
        assert_eq!(bob.patch(&path, name()).await.problem(), forbidden);
        assert_eq!(bob.delete(&path).await.problem(), forbidden);
    }
    let all = bob.delete(&format!("{ASSISTANTS}?ids=own,shared,app")).await.body();
    assert_eq!(all["deleted"], 0);
    for (field, value) in [("user_id", "ann"), ("team_id", "red")] {
        let of_other = bob.put(&at("new"), json!({"name": "New", field: value})).await;
        assert_eq!(of_other.problem(), (403, "forbidden-owner".to_owned()));
        let given_away = ann.patch(&at("own"), json!({ field: "someone" })).await;
        assert_eq!(given_away.problem(), (403, "forbidden-owner".to_owned()));
    }
    assert_eq!(ann.patch(&at("own"), json!({"user_id": null})).await.culprit(), "/user_id");
    let moved = service.patch(&at("own"), json!({"user_id": "bob"})).await;
    assert_eq!(moved.body()["user_id"], "bob");
    assert_eq!(ann.get(&at("own")).await.status, 404);

    assert_eq!(support.get(&at("hidden")).await.status, 200);
    assert_eq!(support.patch(&at("hidden"), json!({"sort": 1})).await.status, 200);
    let created = support.put(&at("new"), json!({"name": "New"})).await;
    assert_eq!(created.problem(), (403, "forbidden-permission".to_owned()));
    let elsewhere = ann.get("/api/assistants/other/own").await;
    assert_eq!(elsewhere.problem(), (404, "assistant-not-found".to_owned()));
    assert_eq!(ann.get("/api/assistants/other").await.problem(), (403, "forbidden-app".to_owned()));
}
