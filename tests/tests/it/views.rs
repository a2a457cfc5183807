//! The views show what the API says, for every recipe with which readers of `MozaiksAI`'s database look into it.

use anyhow::{Context as _, Result, bail, ensure};
use futures::TryStreamExt as _;
use mongodb::bson::{Bson, Document, RawBsonRef, RawDocumentBuf, doc};
use mongodb::options::FindOptions;
use reqwest::Method;
use serde_json::{Map, Value, json};
use tests::binary::{run, told};
use tests::client::{APP, Chat, Client};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::until;

/// The chat of the recipes.
const CHAT: &str = "chat_abc123";
const WORKFLOW: &str = "Generator";
const USER: &str = "user_456";
const SEED: u64 = 2_847_561_923;
/// So many messages that most of them are sealed.
const MESSAGES: usize = 200;
/// A text that is deleted wherever it was said.
const DELETED: &str = "a deleted text";

/// A service whose database has views.
struct Viewed {
    database: Database,
    settings: Settings,
    service: Service,
    client: Client,
}

impl Viewed {
    async fn new() -> Result<Self> {
        let database = Database::create().await?;
        let settings = Settings::of(&database);
        let service = Service::start(&settings).await?;
        let client = service.client()?;
        let created = told(&run(&["views", "create"], &settings).await?)?;
        ensure!(created.lines().count() == 5, "{created}");
        ensure!(created.lines().all(|line| line.ends_with(": created")), "{created}");
        Ok(Self { database, settings, service, client })
    }

    async fn find(&self, view: &str, filter: Document, options: FindOptions) -> Result<Vec<Value>> {
        let view = self.database.raw().collection::<RawDocumentBuf>(view);
        let found: Vec<_> = view.find(filter).with_options(options).await?.try_collect().await?;
        found.iter().map(|document| plain(RawBsonRef::Document(document))).collect()
    }

    async fn all(&self, view: &str, filter: Document) -> Result<Vec<Value>> {
        self.find(view, filter, FindOptions::default()).await
    }

    async fn one(&self, view: &str, filter: Document) -> Result<Value> {
        let mut found = self.all(view, filter).await?;
        ensure!(found.len() == 1, "{} documents", found.len());
        found.pop().context("nothing found")
    }

    async fn chat(&self, chat_id: &str) -> Result<Value> {
        self.one("mozaiks.chat_sessions", doc! { "_id": chat_id }).await
    }

    async fn create(&self, chat_id: &str, workflow: &str, seed: Option<u64>) -> Result<Chat> {
        let new = json!({
            "chat_id": chat_id, "workflow_name": workflow, "user_id": USER, "visibility": "link",
            "cache_seed": seed,
        });
        self.client.call(Method::POST, &format!("/api/chats/{APP}"), Some(&new)).await?;
        Ok(self.client.chat(chat_id))
    }

    /// Says so much in a chat that most of it is sealed, edits a message, and deletes another one.
    async fn fill(&self, chat: &Chat) -> Result<()> {
        for batch in 0..MESSAGES / 20 {
            let messages: Vec<_> = (0..20).map(|n| said(chat, batch * 20 + n)).collect();
            chat.append(&messages).await?;
        }
        let of_chat = doc! { "_id.chat_id": chat.id() };
        until("messages to be sealed", async || {
            let segments = self.database.raw().collection::<Document>("chat_segments");
            Ok((segments.count_documents(of_chat.clone()).await? > 0).then_some(()))
        })
        .await?;
        change(chat, 3, 5).await
    }

    async fn stop(self) -> Result<()> {
        self.service.stop().await
    }
}

/// Returns a stored value as JSON, literally: the driver's own conversion interprets keys such as `$oid`.
fn plain(value: RawBsonRef<'_>) -> Result<Value> {
    Ok(match value {
        RawBsonRef::Null => Value::Null,
        RawBsonRef::Boolean(value) => value.into(),
        RawBsonRef::Int32(number) => number.into(),
        RawBsonRef::Int64(number) => number.into(),
        RawBsonRef::Double(number) => number.into(),
        RawBsonRef::String(text) => text.into(),
        RawBsonRef::DateTime(time) => time.try_to_rfc3339_string()?.into(),
        RawBsonRef::Array(items) => {
            let items = items.into_iter().map(|item| plain(item?));
            Value::Array(items.collect::<Result<_>>()?)
        }
        RawBsonRef::Document(fields) => {
            let fields = fields.into_iter().map(|field| {
                let (name, value) = field?;
                Ok((name.as_str().to_owned(), plain(value)?))
            });
            Value::Object(fields.collect::<Result<_>>()?)
        }
        other => bail!("{other:?} is no JSON"),
    })
}

fn deleted(chat: &Chat, n: usize) -> String {
    format!("{DELETED} {n} of {}", chat.id())
}

/// Every tenth message is to be deleted by some chat.
fn said(chat: &Chat, n: usize) -> Value {
    let content = if n % 10 == 5 { deleted(chat, n) } else { format!("said {n}: {:900}", "") };
    let (role, name) =
        if n.is_multiple_of(2) { ("user", "user") } else { ("assistant", "interviewer") };
    let mut message = json!({ "role": role, "name": name, "content": content, "event_id": format!("{}-{n}", chat.id()) });
    if n.is_multiple_of(3) {
        message["timestamp"] = format!("2025-10-02T10:00:{:02}.000Z", n % 60).into();
    }
    if n == 7 {
        message["metadata"] = json!({ "$oid": "no operator", "a.b": [1, null, { "$gt": 2 }] });
    }
    message
}

async fn change(chat: &Chat, edited: usize, deleted: usize) -> Result<()> {
    let edit = json!({ "content": format!("edited in {}", chat.id()) });
    chat.send(Method::PATCH, &format!("messages/{edited}"), Some(&edit)).await?;
    chat.send(Method::DELETE, &format!("messages/{deleted}"), None).await?;
    Ok(())
}

async fn fork(chat: &Chat, chat_id: &str, at: usize, client: &Client) -> Result<Chat> {
    chat.post("fork", &json!({ "chat_id": chat_id, "sequence": at })).await?;
    Ok(client.chat(chat_id))
}

/// The fields of the document and, beside them, whether the message is deleted.
fn fields(message: &Value) -> Value {
    let names = ["role", "name", "content", "sequence", "timestamp", "event_id", "metadata"];
    let given = names.iter().filter(|name| !message[**name].is_null());
    let mut kept: Map<_, _> =
        given.map(|name| ((*name).to_owned(), message[*name].clone())).collect();
    kept.insert("is_deleted".to_owned(), (!message["deleted_at"].is_null()).into());
    kept.into()
}

fn all_fields(messages: &Value) -> Vec<Value> {
    messages.as_array().map(|messages| messages.iter().map(fields).collect()).unwrap_or_default()
}

/// Compares a chat in the view with what the API says of it.
async fn compare(viewed: &Viewed, chat: &Chat) -> Result<Value> {
    let shown = viewed.chat(chat.id()).await?;
    let told = Value::Array(chat.messages().await?);
    let (shown_messages, told_messages) = (all_fields(&shown["messages"]), all_fields(&told));
    assert_eq!(shown_messages.len(), told_messages.len(), "in {}", chat.id());
    for (shown, told) in shown_messages.iter().zip(&told_messages) {
        assert_eq!(shown, told, "in {}", chat.id());
    }
    let meta = chat.get("meta").await?;
    for field in ["app_id", "workflow_name", "user_id", "cache_seed", "status", "last_sequence"] {
        assert_eq!(shown[field], meta[field], "{field} of {}", chat.id());
    }
    let context = chat.get("context").await?;
    assert_eq!(shown["context_snapshot"], context["context_snapshot"]);
    let artifact = &chat.get("artifact").await?["last_artifact"];
    for field in ["ui_tool_id", "event_id", "display", "workflow_name", "payload"] {
        assert_eq!(shown["last_artifact"][field], artifact[field], "{field} of the artifact");
    }
    assert_eq!(shown["last_artifact"].is_null(), artifact.is_null());
    Ok(shown)
}

#[tokio::test]
async fn a_view_shows_each_chat_as_the_api_does() -> Result<()> {
    let viewed = Viewed::new().await?;
    let source = viewed.create(CHAT, WORKFLOW, Some(SEED)).await?;
    viewed.fill(&source).await?;
    let middle = fork(&source, "middle", 150, &viewed.client).await?;
    change(&middle, 13, 15).await?;
    change(&source, 23, 25).await?;
    viewed.fill(&middle).await?;
    let last = fork(&middle, "last", 300, &viewed.client).await?;
    change(&last, 13, 35).await?;
    change(&middle, 33, 45).await?;
    change(&source, 13, 55).await?;
    // The newest edit of a message counts, also where the older one is shared.
    change(&middle, 13, 65).await?;
    let large = "x".repeat(8 << 10);
    source
        .put("context", &json!({ "interview_complete": true, "user_requirements": large }))
        .await?;
    let code = json!({ "language": "python", "code": large, "$set": { "a.b": 1 } });
    let artifact = json!({
        "ui_tool_id": "code_editor", "event_id": "evt_xyz789", "display": "artifact",
        "workflow_name": WORKFLOW, "payload": code,
    });
    source.put("artifact", &artifact).await?;
    middle.put("context", &json!({ "interview_complete": false })).await?;
    let small = json!({ "ui_tool_id": "file_browser", "payload": { "path": "/" } });
    middle.put("artifact", &small).await?;
    let empty = viewed.create("empty", WORKFLOW, None).await?;

    let mut texts = Vec::new();
    for chat in [&source, &middle, &last, &empty] {
        texts.push(compare(&viewed, chat).await?.to_string());
    }
    for (text, gone) in texts.iter().zip([&[5, 25, 55][..], &[15, 45, 65], &[35]]) {
        for n in gone {
            assert!(!text.contains(&deleted(&source, *n)), "message {n} is shown");
        }
    }
    // What one chat has deleted, another one that shares it still shows.
    assert!(texts[1].contains(&deleted(&source, 55)));
    assert_eq!(empty.messages().await?, Vec::<Value>::new());
    viewed.stop().await
}

/// Every recipe of the document, through the driver, with its own filters.
#[tokio::test]
async fn every_recipe_of_the_document_gives_what_the_api_says() -> Result<()> {
    let viewed = Viewed::new().await?;
    let chat = viewed.create(CHAT, WORKFLOW, Some(SEED)).await?;
    viewed.fill(&chat).await?;
    let other = viewed.create("chat_def456", "Planner", None).await?;
    let newer = viewed.create("chat_newer", WORKFLOW, None).await?;
    newer.turn("complete").await?;
    let view = "mozaiks.chat_sessions";

    // db.chat_sessions.find_one({"_id": "chat_abc123"})
    let shown = compare(&viewed, &chat).await?;
    assert_eq!((&shown["cache_seed"], &shown["status"]), (&SEED.into(), &1.into()));
    assert_eq!((&shown["completed_at"], &shown["duration_sec"]), (&Value::Null, &0.0.into()));
    assert!(shown["created_at"].is_string() && shown["last_updated_at"].is_string());
    let keys: Vec<_> = shown.as_object().context("no object")?.keys().collect();
    assert_eq!(keys.len(), 14, "{keys:?}");

    // db.chat_sessions.find({"app_id", "workflow_name"}).sort({"created_at": -1}).limit(20)
    let of_workflow = doc! { "app_id": APP, "workflow_name": WORKFLOW };
    let newest = FindOptions::builder().sort(doc! { "created_at": -1 }).limit(20).build();
    let found = viewed.find(view, of_workflow, newest).await?;
    let ids: Vec<_> = found.iter().map(|chat| &chat["_id"]).collect();
    assert_eq!(ids, ["chat_newer", CHAT]);
    let list = format!("/api/chats/{APP}?workflow_name={WORKFLOW}");
    let listed = viewed.client.call(Method::GET, &list, None).await?;
    let listed: Vec<_> =
        listed["data"].as_array().context("no list")?.iter().map(|chat| &chat["chat_id"]).collect();
    assert_eq!(ids, listed);

    // db.chat_sessions.find({"user_id": "user_456"})
    assert_eq!(viewed.all(view, doc! { "user_id": USER }).await?.len(), 3);
    // {"status": 3}
    let completed = viewed.all(view, doc! { "status": 3 }).await?;
    assert_eq!(completed.len(), 1);
    assert!(completed[0]["completed_at"].is_string());
    let meta = newer.get("meta").await?;
    assert_eq!(completed[0]["duration_sec"], meta["duration_sec"]);

    // {"messages": {"$slice": -50}}, which MongoDB takes for a view as an expression only
    let newest = |slice: Bson| {
        FindOptions::builder().projection(doc! { "messages": { "$slice": slice } }).build()
    };
    assert!(viewed.find(view, doc! { "_id": CHAT }, newest((-50).into())).await.is_err());
    let sliced = newest(vec![Bson::from("$messages"), Bson::from(-50)].into());
    let sliced = viewed.find(view, doc! { "_id": CHAT }, sliced).await?;
    let told = serde_json::to_value(chat.newest(50).await?.messages)?;
    assert_eq!(all_fields(&sliced[0]["messages"]), all_fields(&told));

    // "Verify app_id matches (cross-app queries blocked by filter)"
    assert_eq!(viewed.all(view, doc! { "_id": CHAT, "app_id": "other" }).await?.len(), 0);
    // "Inspect messages array ordering: should be sorted by sequence"
    let messages = shown["messages"].as_array().context("no messages")?;
    let sequences = messages.iter().map(|message| message["sequence"].as_u64());
    assert!(sequences.eq((0..MESSAGES as u64).map(Some)));
    // "Check for duplicate messages: look for identical event_id values"
    let duplicates = [
        doc! { "$match": { "_id": CHAT } },
        doc! { "$unwind": "$messages" },
        doc! { "$group": { "_id": "$messages.event_id", "count": { "$sum": 1 } } },
        doc! { "$match": { "count": { "$gt": 1 } } },
    ];
    let sessions = viewed.database.raw().collection::<Document>(view);
    let duplicates: Vec<Document> = sessions.aggregate(duplicates).await?.try_collect().await?;
    assert_eq!(duplicates, []);
    // The same chat, a document for each message.
    let of_chat = doc! { "chat_id": CHAT, "sequence": { "$gte": 190 } };
    assert_eq!(viewed.all("mozaiks.messages", of_chat).await?.len(), 10);
    assert_eq!(compare(&viewed, &other).await?["messages"], json!([]));

    // The writes of the document are refused: a view is read-only.
    let push = doc! { "$push": { "messages": {} }, "$inc": { "last_sequence": 1 } };
    assert!(sessions.update_one(doc! { "_id": CHAT }, push).await.is_err());
    let index = mongodb::IndexModel::builder().keys(doc! { "status": 1 }).build();
    assert!(sessions.create_index(index).await.is_err());
    viewed.stop().await
}

#[tokio::test]
async fn stats_wallets_and_apps_are_shown_as_the_document_has_them() -> Result<()> {
    let viewed = Viewed::new().await?;
    let chat = viewed.create(CHAT, WORKFLOW, None).await?;
    let call = |id: &str, agent: &str, tokens: u64| {
        json!({
            "call_id": id, "agent": agent, "model": "m", "prompt_tokens": tokens,
            "completion_tokens": 1600, "cost_micros_usd": 180_000,
        })
    };
    let calls = [call("a", "interviewer", 3500), call("b", "agent.with $igns", 2900)];
    chat.post("calls", &json!({ "calls": calls })).await?;
    let other = viewed.create("chat_def456", WORKFLOW, None).await?;
    other.post("calls", &call("c", "interviewer", 7)).await?;
    for chat in [&chat, &other] {
        chat.turn("complete").await?;
    }
    viewed.create("elsewhere", "corp_Generator", None).await?;

    let id = format!("mon_{APP}_{WORKFLOW}");
    let shown = viewed.one("mozaiks.workflow_stats", doc! { "_id": id.as_str() }).await?;
    let told = format!("/api/stats/{APP}/{WORKFLOW}");
    let told = viewed.client.call(Method::GET, &told, None).await?;
    for field in ["_id", "app_id", "workflow_name", "overall_avg", "agents"] {
        assert_eq!(shown[field], told[field], "{field}");
    }
    let chats = shown["chat_sessions"].as_object().context("no chats")?;
    assert_eq!(chats.len(), 2);
    for (chat_id, shown) in chats {
        for (field, value) in shown.as_object().context("no chat")? {
            assert_eq!(value, &told["chat_sessions"][chat_id][field], "{field} of {chat_id}");
        }
    }
    let of_app = doc! { "app_id": APP };
    assert_eq!(viewed.all("mozaiks.workflow_stats", of_app).await?.len(), 2);

    let wallet = json!({ "initial_balance": 1000 });
    let path = format!("/api/wallets/{APP}/{USER}");
    viewed.client.call(Method::POST, &format!("{path}/ensure"), Some(&wallet)).await?;
    let spent = json!({ "entry_id": "spent", "amount": 250 });
    viewed.client.call(Method::POST, &format!("{path}/debit"), Some(&spent)).await?;
    let wallet = viewed.one("mozaiks.Wallets", doc! { "AppId": APP, "UserId": USER }).await?;
    assert_eq!(wallet["Balance"], viewed.client.call(Method::GET, &path, None).await?["balance"]);
    assert!(wallet["CreatedAt"].is_string() && wallet["UpdatedAt"].is_string());
    told_of(&run(&["apps", "register", APP], &viewed.settings).await?)?;
    let app = viewed.one("mozaiks.apps", doc! { "_id": APP }).await?;
    assert_eq!(app["status"], "enabled");
    viewed.stop().await
}

fn told_of(output: &std::process::Output) -> Result<()> {
    ensure!(output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned());
    Ok(())
}

#[tokio::test]
async fn what_is_deleted_or_erased_is_in_no_view() -> Result<()> {
    let viewed = Viewed::new().await?;
    let kept = viewed.create("kept", WORKFLOW, None).await?;
    let archived = viewed.create("archived", WORKFLOW, None).await?;
    archived.turn("archive").await?;
    let secret = "the secret";
    for chat_id in ["deleted", "purged"] {
        let chat = viewed.create(chat_id, WORKFLOW, None).await?;
        chat.append(&[json!({ "role": "user", "name": "user", "content": secret })]).await?;
        chat.put("context", &json!({ "secret": secret })).await?;
        let path = format!("/api/chats/{APP}/{chat_id}");
        let purge = if chat_id == "purged" { "?purge=true" } else { "" };
        viewed.client.call(Method::DELETE, &format!("{path}{purge}"), None).await?;
    }
    let author = json!({ "user_id": "erased" });
    let message = json!({ "role": "user", "content": secret, "author": author });
    kept.append(&[message]).await?;
    let erased = run(&["erase", "--app", APP, "--user", "erased"], &viewed.settings).await?;
    told_of(&erased)?;
    let found = viewed.all("mozaiks.chat_sessions", doc! {}).await?;
    let mut ids: Vec<_> = found.iter().filter_map(|chat| chat["_id"].as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["archived", "kept"]);
    for view in ["mozaiks.chat_sessions", "mozaiks.messages"] {
        let text = serde_json::to_string(&viewed.all(view, doc! {}).await?)?;
        assert!(!text.contains(secret), "{view} shows {text}");
    }
    assert_eq!(viewed.all("mozaiks.messages", doc! {}).await?.len(), 1);
    viewed.stop().await
}

#[tokio::test]
async fn views_are_created_replaced_and_dropped() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let outcome = async |arguments: &[&str]| -> Result<(Vec<String>, Option<i32>)> {
        let output = run(arguments, &settings).await?;
        let text = String::from_utf8(output.stdout)?;
        let outcomes = text.lines().filter_map(|line| Some(line.split_once(": ")?.1.to_owned()));
        Ok((outcomes.collect(), output.status.code()))
    };
    let all = |outcome: &str| vec![outcome.to_owned(); 5];
    let create = ["views", "create"];
    let dry = outcome(&["views", "create", "--dry-run"]).await?;
    assert_eq!(dry, (all("created (dry run)"), Some(0)));
    assert_eq!(outcome(&create).await?, (all("created"), Some(0)));
    assert_eq!(outcome(&create).await?, (all("unchanged"), Some(0)));
    let raw = database.raw();
    raw.run_command(doc! { "drop": "mozaiks.apps" }).await?;
    raw.run_command(doc! { "drop": "mozaiks.Wallets" }).await?;
    raw.create_collection("mozaiks.apps").view_on("apps".to_owned()).await?;
    raw.create_collection("mozaiks.Wallets").await?;
    let (outcomes, code) = outcome(&create).await?;
    assert_eq!(
        outcomes[3..],
        ["not created: a collection has this name".to_owned(), "replaced".to_owned()]
    );
    assert_eq!(code, Some(1));
    let (outcomes, code) = outcome(&["views", "drop"]).await?;
    assert_eq!((outcomes[0].as_str(), code), ("dropped", Some(0)));
    assert_eq!(outcomes[3], "not dropped: it is a collection");
    let left = raw.list_collection_names().await?;
    let left: Vec<_> = left.iter().filter(|name| name.starts_with("mozaiks.")).collect();
    assert_eq!(left, ["mozaiks.Wallets"]);
    // The database is not taken for one of an older release.
    let upgrade = told(&run(&["upgrade"], &settings).await?)?;
    assert!(upgrade.contains("nothing is pending"), "{upgrade}");
    Ok(())
}

/// The original lost messages at this size without a word.
#[tokio::test]
async fn a_chat_larger_than_a_document_is_read_message_by_message() -> Result<()> {
    const LARGE: usize = 900_000;
    let viewed = Viewed::new().await?;
    let chat = viewed.create(CHAT, WORKFLOW, None).await?;
    for n in 0..20 {
        let message = json!({
            "event_id": format!("e{n}"), "role": "user", "content": "x".repeat(LARGE),
        });
        chat.append(&[message]).await?;
    }
    assert!(viewed.all("mozaiks.chat_sessions", doc! { "_id": CHAT }).await.is_err());
    let found = viewed.all("mozaiks.messages", doc! { "chat_id": CHAT }).await?;
    let read = found.iter().map(|it| (it["sequence"].as_u64(), it["message"]["content"].as_str()));
    let read: Vec<_> = read.map(|(sequence, content)| (sequence, content.map(str::len))).collect();
    assert_eq!(read, (0..20).map(|n| (Some(n), Some(LARGE))).collect::<Vec<_>>());
    let slice = doc! { "messages": { "$slice": ["$messages", -3] } };
    let newest = FindOptions::builder().projection(slice).build();
    let newest = viewed.find("mozaiks.chat_sessions", doc! { "_id": CHAT }, newest).await?;
    assert_eq!(newest[0]["messages"].as_array().context("no messages")?.len(), 3);
    viewed.stop().await
}

/// Returns what the server says about a query of a view.
async fn explained(viewed: &Viewed, filter: Document, sort: Document) -> Result<String> {
    let find =
        doc! { "find": "mozaiks.chat_sessions", "filter": filter, "sort": sort, "limit": 20 };
    let explain = doc! { "explain": find, "verbosity": "executionStats" };
    Ok(viewed.database.raw().run_command(explain).await?.to_string())
}

#[tokio::test]
async fn the_filters_of_the_document_reach_the_indexes() -> Result<()> {
    let viewed = Viewed::new().await?;
    for n in 0..30 {
        let workflow = if n % 3 == 0 { WORKFLOW } else { "Planner" };
        let chat = viewed.create(&format!("chat_{n}"), workflow, None).await?;
        chat.append(&[json!({ "role": "user", "name": "user", "content": "Hi" })]).await?;
    }
    let by_creation = doc! { "created_at": -1 };
    for (filter, sort) in [
        (doc! { "_id": "chat_3" }, doc! {}),
        (doc! { "app_id": APP, "workflow_name": WORKFLOW }, by_creation.clone()),
        (doc! { "app_id": APP, "workflow_name": WORKFLOW, "status": 1 }, by_creation),
        (doc! { "status": 1 }, doc! {}),
    ] {
        let plan = explained(&viewed, filter.clone(), sort).await?;
        assert!(!plan.contains("COLLSCAN"), "{filter}: {plan}");
        assert!(!plan.contains("\"collectionScans\": 1"), "{filter}: {plan}");
    }
    viewed.stop().await
}
