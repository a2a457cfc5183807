//! Statistics over HTTP.

use std::sync::Arc;

use insta::assert_json_snapshot;
use serde_json::{Value, json};
use service::Config;

use crate::harness::{Client, SetClock, memory, memory_with};
use crate::tokens::{client as with_tokens, hs256, token};

const STATS: &str = "/api/stats/acme_corp/Generator";

/// A client, and the clock of its store.
fn at_will() -> (Client, Arc<SetClock>) {
    let clock = Arc::new(SetClock::default());
    (Client::over(memory_with(&clock), Config::default()), clock)
}

/// Records a call of a large model.
async fn record(client: &Client, chat: &str, call: Value) {
    let mut whole = json!({"requested_provider": "acme", "requested_model": "large"});
    whole.as_object_mut().unwrap().extend(call.as_object().unwrap().clone());
    let answer = client.post(&format!("{chat}/calls"), whole).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
}

/// The two chats of the documented example.
async fn example() -> Client {
    let (client, clock) = at_will();
    let one = client.create_chat("chat_abc123").await;
    let other = client.create_chat("chat_def456").await;
    let calls = [
        (&one, "interviewer", 1_500, 800, "0.06"),
        (&one, "planner", 2_000, 800, "0.12"),
        (&other, "planner", 2_900, 1_400, "0.12"),
    ];
    for (n, (chat, agent, prompt, completion, cost)) in calls.into_iter().enumerate() {
        let call = json!({
            "call_id": format!("call_{n}"), "agent": agent, "prompt_tokens": prompt,
            "completion_tokens": completion, "cost_usd": cost, "duration_ms": 1_000 * (n + 1),
        });
        record(&client, chat, call).await;
    }
    clock.set(191);
    client.poke(&format!("{other}/complete")).await;
    clock.set(300);
    client.poke(&format!("{one}/complete")).await;
    client
}

#[tokio::test]
async fn the_documented_example_has_the_documented_result() {
    let client = example().await;
    let stats = client.get(STATS).await;
    assert_json_snapshot!("workflow", stats.snapshot());
    let averages = json!({
        "avg_duration_sec": 245.5,
        "avg_prompt_tokens": 3_200,
        "avg_completion_tokens": 1_500,
        "avg_total_tokens": 4_700,
        "avg_cost_total_usd": 0.15,
    });
    assert_eq!(stats.body()["overall_avg"], averages);
    let chats = &stats.body()["chat_sessions"];
    let of = |chat: &str| {
        [&chats[chat]["duration_sec"], &chats[chat]["cost_total_usd"]].map(Value::clone)
    };
    assert_eq!(of("chat_abc123"), [json!(300.0), json!(0.18)]);
    assert_eq!(of("chat_def456"), [json!(191.0), json!(0.12)]);
}

#[tokio::test]
async fn token_averages_are_rounded_down_and_include_idle_chats() {
    let (client, _) = at_will();
    let chat = client.create_chat("c1").await;
    client.create_chat("c2").await;
    record(&client, &chat, json!({"prompt_tokens": 5, "cost_micros_usd": 3})).await;
    let averages = client.get(STATS).await.body()["overall_avg"].clone();
    assert_eq!(
        (&averages["avg_prompt_tokens"], &averages["avg_total_tokens"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(averages["avg_cost_total_usd"], json!(0.000_001_5));
    assert_eq!(averages["avg_duration_sec"], json!(0.0), "none has ended");
}

#[tokio::test]
async fn a_running_chat_shows_its_duration_so_far() {
    let client = Client::over(memory(), Config::default());
    client.create_chat("c1").await;
    let first = client.get(STATS).await.body();
    // The clock of the store is set to a day in 2025.
    assert!(first["chat_sessions"]["c1"]["duration_sec"].as_f64().unwrap() > 86_400.0);
    assert_eq!(first["chat_sessions"]["c1"]["status"], "running");
}

#[tokio::test]
async fn an_unused_workflow_has_zeros() {
    let client = Client::open();
    assert_json_snapshot!("unused_workflow", client.get(STATS).await.snapshot());
    assert_eq!(client.get("/api/stats/acme_corp").await.body()["workflows"], json!([]));
    assert_eq!(client.get("/api/stats").await.body(), json!({"apps": [], "next_cursor": null}));
}

#[tokio::test]
async fn a_series_has_a_point_for_every_step() {
    let (client, clock) = at_will();
    let chat = client.create_chat("c1").await;
    for (hours, tokens) in [(0, 10), (0, 20), (2, 5), (25, 1)] {
        clock.set(hours * 3_600);
        record(&client, &chat, json!({"prompt_tokens": tokens, "duration_ms": 40})).await;
    }
    client.poke(&format!("{chat}/fail")).await;
    let range = "from=2025-10-02T10:30:00Z&to=2025-10-03T11:59:59Z";
    let by_hour = client.get(&format!("{STATS}/series?{range}")).await.body();
    let points = by_hour["points"].as_array().unwrap();
    let tokens: Vec<_> =
        points.iter().map(|p| p["usage"]["total_tokens"].as_u64().unwrap()).collect();
    let mut expected = vec![0; 26];
    (expected[0], expected[2], expected[25]) = (30, 5, 1);
    assert_eq!(tokens, expected);
    assert_eq!((&points[0]["starts"], &points[25]["failures"]), (&json!(1), &json!(1)));
    assert_json_snapshot!("point", points[25]);
    let by_day = client.get(&format!("{STATS}/series?{range}&step=day")).await;
    let points = by_day.body()["points"].clone();
    assert_eq!(points.as_array().unwrap().len(), 2);
    assert_eq!(points[0]["usage"]["total_tokens"], 35);
    assert_eq!(points[1]["percentiles"]["chat_duration_ms"]["count"], 1);
    assert_eq!(by_day.body()["to"], "2025-10-04T00:00:00.000Z");
}

#[tokio::test]
async fn a_series_is_bounded_and_its_parameters_are_named() {
    let client = Client::open();
    let default = client.get(&format!("{STATS}/series")).await.body();
    assert_eq!(default["points"].as_array().unwrap().len(), 24);
    let from = "from=2025-01-01T00:00:00Z";
    for query in [
        "step=week".to_owned(),
        "from=yesterday".to_owned(),
        format!("{from}&to=2024-01-01T00:00:00Z"),
        format!("{from}&to=2025-02-11T16:00:00Z"),
        "limit=3".to_owned(),
    ] {
        let answer = client.get(&format!("{STATS}/series?{query}")).await;
        assert_eq!(answer.problem(), (422, "invalid-request".to_owned()), "{query}");
    }
    let longest = client.get(&format!("{STATS}/series?{from}&to=2025-02-11T15:00:00Z")).await;
    assert_eq!(longest.body()["points"].as_array().unwrap().len(), 1_000);
}

#[tokio::test]
async fn an_app_shows_all_its_workflows() {
    let client = example().await;
    let chat = json!({"workflow_name": "a.b/$c"});
    client.post("/api/chats/acme_corp", chat).await;
    let mut app = client.get("/api/stats/acme_corp").await.body();
    // The last 24 hours are those before this test runs.
    let hours = app.as_object_mut().unwrap().remove("hours").unwrap();
    assert_eq!(hours.as_array().unwrap().len(), 24);
    for workflow in app["workflows"].as_array_mut().unwrap() {
        let hourly = workflow.as_object_mut().unwrap().remove("hourly").unwrap();
        let numbers =
            hourly.as_object().unwrap().values().map(|counts| counts.as_array().unwrap().len());
        assert!(numbers.eq([24; 3]), "{hourly}");
    }
    assert_json_snapshot!("app", app);
    let odd = client.get("/api/stats/acme_corp/a.b%2F$c").await.body();
    assert_eq!((&odd["workflow_name"], &odd["chats"]), (&json!("a.b/$c"), &json!(1)));
    client.post("/api/chats/other", json!({"workflow_name": "w"})).await;
    let first = client.get("/api/stats?limit=1").await;
    assert_json_snapshot!("apps", first.snapshot());
    let second = client.get("/api/stats?limit=1&cursor=acme_corp").await.body();
    assert_eq!(
        (&second["apps"][0]["app_id"], &second["next_cursor"]),
        (&json!("other"), &Value::Null)
    );
}

#[tokio::test]
async fn chats_are_listed_in_pages_from_the_cursor_on() {
    let (client, clock) = at_will();
    for n in 0..103 {
        clock.set(n);
        client.create_chat(&format!("c{n}")).await;
    }
    let stats = client.get(STATS).await.body();
    let newest = &stats["chat_sessions"];
    assert_eq!(newest.as_object().unwrap().len(), 100);
    assert!(newest["c102"].is_object() && newest["c2"].is_null());
    let cursor = stats["next_cursor"].as_str().unwrap();
    let page = client.get(&format!("{STATS}/chats?cursor={cursor}&limit=2")).await.body();
    assert_eq!([&page["chats"][0]["chat_id"], &page["chats"][1]["chat_id"]], ["c2", "c1"]);
    assert!(page["next_cursor"].is_string());
}

#[tokio::test]
async fn chats_are_ordered_newest_first() {
    let (client, clock) = at_will();
    for (n, chat) in ["m", "z", "a"].into_iter().enumerate() {
        clock.set(i64::try_from(n).unwrap());
        client.create_chat(chat).await;
    }
    let text = client.get(STATS).await.text;
    let at = |chat: &str| text.find(&format!("\"{chat}\":")).unwrap();
    assert!(at("a") < at("z") && at("z") < at("m"), "{text}");
}

#[tokio::test]
async fn only_operators_and_services_read_stats() {
    let client = with_tokens(hs256());
    let paths = ["/api/stats", "/api/stats/acme_corp", STATS];
    for (role, status) in [("service", 200), ("operator", 200), ("user", 403)] {
        let claims = json!({"sub": "u", "role": role, "apps": ["acme_corp"]});
        let client = client.with_token(token(&claims));
        for path in paths {
            assert_eq!(client.get(path).await.status, status, "{role} {path}");
        }
    }
    let operator = json!({"sub": "u", "role": "operator", "apps": ["other"]});
    let answer = client.with_token(token(&operator)).get(STATS).await;
    assert_eq!(answer.problem(), (403, "forbidden-app".to_owned()));
}

/// Two chats of ada in two workflows, one of bob, and one without an owner.
async fn usage_of_users() -> Client {
    let (client, clock) = at_will();
    let chats = [
        ("c1", "Generator", Some("ada"), 30, 1),
        ("c2", "Editor", Some("ada"), 3, 2),
        ("c3", "Generator", Some("bob"), 100, 3),
        ("c4", "Generator", None, 1_000, 4),
    ];
    for (chat_id, workflow_name, user_id, tokens, hour) in chats {
        clock.set(hour * 3_600);
        let chat = json!({"chat_id": chat_id, "workflow_name": workflow_name, "user_id": user_id});
        let answer = client.post("/api/chats/acme_corp", chat).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        let call = json!({
            "call_id": format!("call_{chat_id}"), "prompt_tokens": tokens,
            "cost_micros_usd": 10_000 / tokens, "duration_ms": 40,
        });
        record(&client, &format!("/api/chats/acme_corp/{chat_id}"), call).await;
    }
    client
}

#[tokio::test]
async fn agents_and_models_are_listed_by_what_they_cost_in_some_hours() {
    let client = usage_of_users().await;
    let call = json!({
        "call_id": "call_late", "agent": "editor", "provider": "acme", "model": "m1",
        "prompt_tokens": 7, "cost_micros_usd": 50_000, "called_at": "1970-01-01T09:30:00Z",
    });
    record(&client, "/api/chats/acme_corp/c1", call).await;
    let all = client.get("/api/agent-stats/acme_corp").await.body();
    let agents: Vec<_> = all["agents"].as_array().unwrap().iter().map(|it| &it["agent"]).collect();
    assert_eq!((agents, &all["has_more"]), (vec![&json!("editor"), &Value::Null], &json!(false)));
    let first = client.get("/api/agent-stats/acme_corp?order_by=tokens&limit=1").await.body();
    assert_eq!(first["agents"][0]["usage"]["prompt_tokens"], 1_133);
    assert_eq!((&first["agents"][0]["agent"], &first["has_more"]), (&Value::Null, &json!(true)));
    let hours = "from=1970-01-01T09:00:00Z&to=1970-01-01T09:59:59Z";
    let late = client.get(&format!("/api/model-stats/acme_corp?{hours}")).await.body();
    assert_eq!(late["models"].as_array().unwrap().len(), 1);
    let model = &late["models"][0];
    assert_eq!((&model["provider"], &model["model"]), (&json!("acme"), &json!("m1")));
    assert_eq!(model["usage"]["cost_micros_usd"], 50_000);
    let wrong = client.get("/api/model-stats/acme_corp?order_by=name").await;
    assert_eq!(wrong.status, 422);
}

const USERS: &str = "/api/user-stats/acme_corp";

#[tokio::test]
async fn users_are_listed_by_what_their_chats_cost() {
    let client = usage_of_users().await;
    assert_json_snapshot!("users", client.get(USERS).await.snapshot());
    let listed = async |query: &str| {
        let page = client.get(&format!("{USERS}?{query}")).await.body();
        let ids = page["users"].as_array().unwrap().iter();
        let ids: Vec<_> = ids.map(|user| user["user_id"].as_str().unwrap().to_owned()).collect();
        (ids, page["next_cursor"].as_str().map(str::to_owned))
    };
    assert_eq!(listed("order_by=cost").await.0, ["ada", "bob"]);
    assert_eq!(listed("order_by=tokens").await.0, ["bob", "ada"]);
    let (first, next) = listed("order_by=calls&limit=1").await;
    assert_eq!(first, ["ada"]);
    let second = format!("order_by=calls&limit=1&cursor={}", next.unwrap());
    assert_eq!(listed(&second).await, (vec!["bob".to_owned()], None));
    let some = "from=2025-10-02T13:10:00Z&to=2025-10-02T13:59:59Z";
    assert_eq!(listed(some).await.0, ["bob"]);
    assert_eq!(listed("from=2025-10-02T12:00:00Z").await.0, ["ada", "bob"]);
    assert_eq!(listed("to=2025-10-02T11:00:00Z").await.0, ["ada"]);
}

#[tokio::test]
async fn the_usage_of_one_user_is_by_workflow_and_by_step() {
    let client = usage_of_users().await;
    assert_json_snapshot!("user", client.get(&format!("{USERS}/ada")).await.snapshot());
    let range = "from=2025-10-02T10:00:00Z&to=2025-10-02T13:00:00Z";
    let series = client.get(&format!("{USERS}/ada/series?{range}")).await.body();
    let points = series["points"].as_array().unwrap();
    let tokens: Vec<_> =
        points.iter().map(|point| point["usage"]["total_tokens"].clone()).collect();
    assert_eq!(tokens, [0, 30, 3, 0]);
    let by_day = client.get(&format!("{USERS}/ada/series?{range}&step=day")).await.body();
    assert_eq!(by_day["points"].as_array().unwrap().len(), 1);
    assert_eq!(by_day["points"][0]["usage"]["calls"], 2);
    let unknown = client.get(&format!("{USERS}/carol")).await.body();
    assert_eq!((&unknown["usage"]["calls"], &unknown["workflows"]), (&json!(0), &json!([])));
}

#[tokio::test]
async fn users_agents_and_models_have_points_by_step() {
    let client = usage_of_users().await;
    let range = "from=2025-10-02T11:00:00Z&to=2025-10-02T14:59:59Z";
    for (list, field) in [("user", "users"), ("agent", "agents"), ("model", "models")] {
        let listed = async |step: &str| {
            let path = format!("/api/{list}-stats/acme_corp?order_by=tokens&limit=2&{range}{step}");
            let mut listed = client.get(&path).await.body();
            listed[field].take()
        };
        let plain = listed("").await;
        assert_eq!(plain[0].get("points"), None, "{list}");
        let (by_hour, by_day) = (listed("&step=hour").await, listed("&step=day").await);
        for (index, entry) in plain.as_array().unwrap().iter().enumerate() {
            let tokens = |points: &Value| {
                let points = points.as_array().unwrap().iter();
                points.map(|it| it["usage"]["total_tokens"].as_u64().unwrap()).collect::<Vec<_>>()
            };
            let hours = tokens(&by_hour[index]["points"]);
            assert_eq!(hours.len(), 4, "{list}");
            assert_eq!(json!(hours.iter().sum::<u64>()), entry["usage"]["total_tokens"]);
            assert_eq!(tokens(&by_day[index]["points"]), [hours.iter().sum::<u64>()]);
            assert_eq!(by_hour[index]["usage"], entry["usage"]);
        }
    }
    let path = format!("{USERS}?order_by=tokens&{range}&step=hour");
    let bob = &client.get(&path).await.body()["users"][0];
    assert_eq!(bob["points"][2]["at"], "2025-10-02T13:00:00.000Z");
    assert_eq!(bob["points"][2]["usage"]["total_tokens"], 100);
}

#[tokio::test]
async fn a_list_has_no_more_points_than_its_bound() {
    let client = Client::open();
    let from = "from=2025-10-01T00:00:00Z";
    for (query, detail) in [
        ("step=hour".to_owned(), "from"),
        (format!("step=week&{from}"), "must be hour or day"),
        (format!("step=hour&{from}&to=2025-11-11T16:00:00Z&limit=1"), "1001 points"),
        (format!("step=hour&{from}&to=2025-10-05T04:00:00Z&limit=100"), "101 points"),
    ] {
        for list in ["user", "agent", "model"] {
            let answer = client.get(&format!("/api/{list}-stats/acme_corp?{query}")).await;
            assert_eq!((answer.status, answer.culprit().as_str()), (422, "step"), "{query}");
            assert!(answer.text.contains(detail), "{}", answer.text);
        }
    }
    let most = format!("step=hour&{from}&to=2025-10-05T03:59:59Z&limit=100");
    assert_eq!(client.get(&format!("{USERS}?{most}")).await.status, 200);
}

#[tokio::test]
async fn a_refused_question_about_users_names_the_parameter() {
    let client = Client::open();
    for (query, culprit) in [
        ("order_by=name", "order_by"),
        ("from=yesterday", "from"),
        ("from=2025-10-02T13:00:00Z&to=2025-10-02T12:00:00Z", "from"),
        ("cursor=x", "cursor"),
        ("limit=0", "limit"),
        ("user_id=ada", "user_id"),
    ] {
        let answer = client.get(&format!("{USERS}?{query}")).await;
        assert_eq!((answer.status, answer.culprit().as_str()), (422, culprit), "{query}");
    }
}

/// A workflow may have any name, also one that looks like a list of users.
#[tokio::test]
async fn a_workflow_that_is_called_users_has_stats() {
    let client = Client::open();
    let chat = json!({"chat_id": "c1", "workflow_name": "users", "user_id": "ada"});
    client.post("/api/chats/acme_corp", chat).await;
    let stats = client.get("/api/stats/acme_corp/users").await.body();
    assert_eq!((&stats["workflow_name"], &stats["chats"]), (&json!("users"), &json!(1)));
}
