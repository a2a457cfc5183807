//! Assistants in the shapes of Yao.

use records::AppId;
use serde_json::{Value, json};
use service::{AdaptersConfig, Config, YaoConfig};

use crate::harness::{Answer, Client, memory};
use crate::tokens::{hs256, limits, token};
use crate::yao::{client, error, session, text, typed};

const ASSISTANTS: &str = "/v1/agent/assistants";
const NATIVE: &str = "/api/assistants/yao";

fn weather() -> Value {
    json!({
        "assistant_id": "weather",
        "name": "{{name}}",
        "description": "For {{where}}",
        "avatar": "https://example.com/w.png",
        "connector": "deepseek.v3",
        "tags": ["weather", "news"],
        "modes": ["chat"],
        "default_mode": "chat",
        "mentionable": true,
        "public": true,
        "sort": 2,
        "locales": {
            "zh-cn": {"locale": "zh-cn", "messages": {"name": "天气", "where": "中国", "hi": "你好"}},
            "en": {"messages": {"name": "Weather", "where": "everywhere", "hi": "Hello"}},
        },
        "prompts": [{"role": "system", "content": "Be brief, {{name}}."}],
        "placeholder": {"title": "{{hi}}", "prompts": ["{{name}}?", "{{unknown}}"]},
        "options": {"temperature": 0.5, "$oid": null},
        "readonly": false,
        "created_at": 1,
    })
}

async fn save(client: &Client, model: Value) -> String {
    let saved = client.post(ASSISTANTS, model).await;
    assert_eq!(saved.status, 200, "{}", saved.text);
    saved.text_of("assistant_id")
}

fn ids(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let body = answer.body();
    let data = body["data"].as_array().unwrap();
    data.iter().map(|it| it["assistant_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn an_assistant_is_saved_and_comes_back_as_it_was_written() {
    let client = client();
    assert_eq!(save(&client, weather()).await, "weather");
    let mut shown = client.get(&format!("{ASSISTANTS}/weather")).await.body();
    for (field, value) in weather().as_object().unwrap() {
        if field != "created_at" {
            assert_eq!(shown[field], *value, "{field}");
        }
    }
    let shown = shown.as_object_mut().unwrap();
    assert!(shown["created_at"].is_string() && shown["updated_at"].is_string());
    assert_eq!((&shown["type"], &shown["share"]), (&json!("assistant"), &json!("private")));
    let native = client.get(&format!("{NATIVE}/weather")).await.body();
    assert_eq!(native["visibility"], "app");
    let settings: Vec<_> = native["config"].as_object().unwrap().keys().collect();
    assert_eq!(settings, ["prompts", "placeholder", "options", "readonly"]);
    // A repeat changes nothing, and an assistant without an id gets one.
    save(&client, weather()).await;
    assert_eq!(client.get(&format!("{NATIVE}/weather")).await.body()["version"], 1);
    let minted = save(&client, json!({"name": "Minted"})).await;
    assert!(minted.starts_with("assistant_"), "{minted}");
    let selected = client.get(&format!("{ASSISTANTS}/weather?select=name,prompts,other")).await;
    let selected = selected.body();
    let fields: Vec<_> = selected.as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields.len(), 3, "{fields:?}");
    for refused in [
        json!({"assistant_id": "a"}),
        json!({"name": "A", "share": "all"}),
        json!({"name": "A", "share": "team"}),
        json!({"name": "A", "tags": "news"}),
    ] {
        let refused = client.post(ASSISTANTS, refused).await;
        assert_eq!(error(&refused), (400, "invalid_request".to_owned()));
    }
}

#[tokio::test]
async fn an_assistant_is_updated_field_by_field_and_deleted() {
    let client = client();
    save(&client, weather()).await;
    let path = format!("{ASSISTANTS}/weather");
    let change = json!({"name": "W", "description": null, "options": {"temperature": 1},
        "placeholder": null, "public": false, "updated_at": 5});
    let changed = client.put(&path, change).await;
    assert_eq!((changed.status, changed.body()), (200, json!({"assistant_id": "weather"})));
    let shown = client.get(&path).await.body();
    assert_eq!((&shown["name"], &shown["options"]), (&json!("W"), &json!({"temperature": 1})));
    assert_eq!((shown.get("description"), shown.get("placeholder")), (None, None));
    assert_eq!((&shown["public"], &shown["prompts"]), (&json!(false), &weather()["prompts"]));
    let deleted = client.delete(&path).await;
    assert_eq!(
        (deleted.status, deleted.body()),
        (200, json!({"message": "Assistant deleted successfully", "assistant_id": "weather"}))
    );
    let missing = (404, "resource_not_found".to_owned());
    assert_eq!(error(&client.get(&path).await), missing);
    assert_eq!(error(&client.delete(&path).await), missing);
    assert_eq!(error(&client.put(&path, json!({"name": "x"})).await), missing);
}

#[tokio::test]
async fn assistants_are_filtered_by_every_parameter() {
    let client = client();
    save(&client, weather()).await;
    save(
        &client,
        json!({"assistant_id": "r1", "name": "100% r_bot", "type": "robot", "automated": true}),
    )
    .await;
    save(
        &client,
        json!({"assistant_id": "n1", "name": "News", "tags": ["news"], "built_in": true}),
    )
    .await;
    for (query, expected) in [
        ("", &["n1", "weather"][..]),
        ("type=robot", &["r1"]),
        ("types=robot,assistant", &["n1", "r1", "weather"]),
        ("keywords=NEWS", &["n1"]),
        ("keywords=everywhere", &["weather"]),
        ("keywords=%25&type=robot", &["r1"]),
        ("keywords=r_b&type=robot", &["r1"]),
        ("keywords=r.b&type=robot", &[]),
        ("connector=deepseek.v3", &["weather"]),
        ("tags=news", &["n1", "weather"]),
        ("tags=weather,x", &["weather"]),
        ("assistant_id=n1", &["n1"]),
        ("assistant_ids=n1,weather,x", &["n1", "weather"]),
        ("mentionable=true", &["weather"]),
        ("mentionable=maybe", &["n1", "weather"]),
        ("built_in=1", &["n1"]),
        ("automated=false", &["n1", "weather"]),
        ("automated=true&type=robot", &["r1"]),
    ] {
        let mut found = ids(&client.get(&format!("{ASSISTANTS}?{query}")).await);
        found.sort();
        assert_eq!(found, expected, "{query}");
    }
    let tags = async |query: &str| client.get(&format!("{ASSISTANTS}/tags?{query}")).await.body();
    let news = json!({"value": "news", "label": "news"});
    let of_weather = json!({"value": "weather", "label": "weather"});
    assert_eq!(tags("").await, json!([news, of_weather]));
    assert_eq!(tags("built_in=true").await, json!([news]));
    assert_eq!(tags("type=robot").await, json!([]));
    let too_many = (0..101).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let too_many = client.get(&format!("{ASSISTANTS}?assistant_ids={too_many}")).await;
    assert_eq!(error(&too_many), (400, "invalid_request".to_owned()));
}

#[tokio::test]
async fn pages_of_assistants_have_totals() {
    let client = client();
    for n in 0..25 {
        save(&client, json!({"assistant_id": format!("a{n:02}"), "name": "A", "sort": 30 - n}))
            .await;
    }
    let page = async |query: &str| client.get(&format!("{ASSISTANTS}?{query}")).await;
    let first = page("").await;
    assert_eq!((ids(&first).len(), ids(&first)[0].as_str()), (20, "a24"));
    let numbers = |answer: &Answer| {
        let body = answer.body();
        ["page", "pagesize", "pagecount", "next", "prev", "total"]
            .map(|it| body[it].as_u64().unwrap())
    };
    assert_eq!(numbers(&first), [1, 20, 2, 2, 0, 25]);
    let second = page("page=2").await;
    assert_eq!((ids(&second).len(), numbers(&second)), (5, [2, 20, 2, 0, 1, 25]));
    assert_eq!(numbers(&page("page=0&pagesize=500").await), [1, 20, 2, 2, 0, 25]);
    assert_eq!(numbers(&page("page=x&pagesize=10").await), [1, 10, 3, 2, 0, 25]);
    let past = page("page=9").await;
    assert_eq!((ids(&past).len(), numbers(&past)), (0, [9, 20, 2, 0, 8, 25]));
    assert_eq!(numbers(&page("keywords=nothing").await), [1, 20, 1, 0, 0, 0]);
    assert_eq!(error(&page("page=501").await), (400, "invalid_request".to_owned()));
    let shown = first.body()["data"][0].clone();
    assert_eq!(shown.get("prompts"), None);
    let selected = page("select=name").await.body()["data"][0].clone();
    assert_eq!(selected, json!({"assistant_id": "a24", "name": "A"}));
}

#[tokio::test]
async fn the_texts_of_an_assistant_follow_the_locale() {
    let client = client();
    save(&client, weather()).await;
    let shown = async |query: &str, accepted: &str| {
        let path = format!("{ASSISTANTS}{query}");
        let request = client.request("GET", &path).header("accept-language", accepted);
        client.send(request.body("".into()).unwrap()).await.body()
    };
    let one = shown("/weather?locale=zh-CN", "en").await;
    assert_eq!((&one["name"], &one["description"]), (&json!("天气"), &json!("For 中国")));
    assert_eq!(one["placeholder"], json!({"title": "你好", "prompts": ["天气?", "{{unknown}}"]}));
    // Prompts are for the model, and texts to be edited are as they are stored.
    assert_eq!(one["prompts"], weather()["prompts"]);
    assert_eq!(shown("/weather", "zh-cn").await["name"], "{{name}}");
    for (query, accepted, name) in [
        ("?locale=en-US", "zh-cn", "Weather"),
        ("", "zh-CN,en;q=0.5", "天气"),
        ("?locale=", "en", "Weather"),
        ("?locale=fr", "en", "{{name}}"),
        ("", "*", "{{name}}"),
    ] {
        assert_eq!(shown(query, accepted).await["data"][0]["name"], name, "{query} {accepted}");
    }
}

#[tokio::test]
async fn messages_come_with_the_assistants_that_resolve() {
    let client = client();
    save(&client, weather()).await;
    let path = session(&client, "c1", json!({})).await;
    let said = |id: &str, assistant: &str| {
        typed(id, "text", json!({"content": "x"}), json!({"assistant_id": assistant}))
    };
    let messages = json!({"messages": [said("M1", "weather"), said("M2", "unknown"),
        said("M3", "weather"), text("M4", "none")]});
    let saved = client.post(&format!("{path}/messages"), messages).await;
    assert_eq!(saved.status, 200, "{}", saved.text);
    let shown = client.get(&format!("{path}/messages?locale=zh-cn")).await.body();
    assert_eq!(
        shown["assistants"],
        json!({"weather": {
            "assistant_id": "weather", "name": "天气", "avatar": "https://example.com/w.png",
            "description": "For 中国", "connector": "deepseek.v3", "default_mode": "chat",
            "modes": ["chat"],
        }})
    );
    let none = client.get(&format!("{path}/messages?type=image")).await.body();
    assert_eq!(none["assistants"], json!({}));
}

#[tokio::test]
async fn assistants_are_deleted_by_a_filter() {
    let client = client();
    save(&client, weather()).await;
    save(&client, json!({"assistant_id": "r1", "name": "R", "type": "robot", "tags": ["news"]}))
        .await;
    assert_eq!(error(&client.delete(ASSISTANTS).await), (400, "invalid_request".to_owned()));
    let deleted = client.delete(&format!("{ASSISTANTS}?tags=news&mentionable=false")).await;
    assert_eq!((deleted.status, deleted.body()), (200, json!({"deleted": 1, "has_more": false})));
    let deleted = client.delete(&format!("{ASSISTANTS}?keywords=weather")).await;
    assert_eq!(deleted.body()["deleted"], 1);
}

#[tokio::test]
async fn a_teammate_uses_only_the_assistants_that_the_team_shares() {
    let yao =
        YaoConfig { enabled: true, app_id: AppId::parse("acme_corp").ok(), ..YaoConfig::default() };
    let adapters = AdaptersConfig { yao, ..AdaptersConfig::default() };
    let config = Config { adapters, auth: hs256(), limits: limits(), ..Config::default() };
    let client = Client::over(memory(), config);
    let [ann, bob] =
        ["ann", "bob"].map(|user| client.with_token(token(&json!({"sub": user, "team": "blue"}))));
    save(&ann, json!({"assistant_id": "own", "name": "Own"})).await;
    save(&ann, json!({"assistant_id": "shared", "name": "Shared", "share": "team"})).await;
    assert_eq!(ids(&ann.get(ASSISTANTS).await), ["own", "shared"]);
    assert_eq!(ids(&bob.get(ASSISTANTS).await), ["shared"]);
    let path = |id: &str| format!("{ASSISTANTS}/{id}");
    let missing = (404, "resource_not_found".to_owned());
    let denied = (403, "access_denied".to_owned());
    assert_eq!(error(&bob.get(&path("own")).await), missing);
    assert_eq!(error(&bob.put(&path("own"), json!({"name": "x"})).await), missing);
    assert_eq!(error(&bob.delete(&path("own")).await), missing);
    assert_eq!(error(&bob.put(&path("shared"), json!({"name": "x"})).await), denied);
    assert_eq!(error(&bob.delete(&path("shared")).await), denied);
    let taken = bob.post(ASSISTANTS, json!({"assistant_id": "own", "name": "x"})).await;
    assert_eq!(error(&taken), (409, "conflict".to_owned()));
    assert_eq!(ann.get(&path("own")).await.body()["name"], "Own");
}
