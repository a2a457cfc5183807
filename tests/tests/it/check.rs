//! `reprise check` changes nothing, and tells everything that would keep a service from working.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context as _, Result, ensure};
use futures::TryStreamExt as _;
use local_mongod::{LocalMongod, Options};
use mongodb::Client;
use mongodb::bson::{Document, RawDocumentBuf, doc};
use persistence::mongo::FaultKind;
use reqwest::Method;
use secrecy::ExposeSecret as _;
use serde_json::json;
use tests::binary::run;
use tests::client::APP;
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::{MAX_WAIT, within};

/// The report of a check, and whether it found nothing wrong.
async fn check(settings: &Settings, options: &[&str]) -> Result<(String, bool)> {
    let output = run(&[&["check"], options].concat(), settings).await?;
    Ok((String::from_utf8(output.stdout)?, output.status.success()))
}

/// The line of a report about a subject.
fn line<'a>(report: &'a str, subject: &str) -> &'a str {
    report.lines().find(|line| line[7..].starts_with(subject)).unwrap_or_default()
}

/// The server's own collections, to which it writes even when it is left alone.
fn is_of_server(database: &str, collection: &str) -> bool {
    match database {
        "local" => true,
        // Retryable writes and transactions of clients are there.
        "config" => collection != "transactions",
        "admin" => collection == "system.keys",
        _ => false,
    }
}

/// Every database, as far as a client sees it: collections, options, indexes and documents.
async fn everything(uri: &str) -> Result<BTreeMap<String, Vec<String>>> {
    let client = Client::with_uri_str(uri).await?;
    let mut everything = BTreeMap::new();
    for name in client.list_database_names().await? {
        let database = client.database(&name);
        let mut collections = database.list_collections().await?;
        while let Some(found) = collections.try_next().await? {
            if is_of_server(&name, &found.name) {
                continue;
            }
            let mut content = vec![format!("{found:?}")];
            let collection = database.collection::<RawDocumentBuf>(&found.name);
            let indexes: Vec<_> = collection.list_indexes().await?.try_collect().await?;
            content.extend(indexes.iter().map(|index| format!("{index:?}")));
            let documents: Vec<_> = collection.find(doc! {}).await?.try_collect().await?;
            content.extend(documents.iter().map(|document| format!("{document:?}")));
            everything.insert(format!("{name}.{}", found.name), content);
        }
    }
    Ok(everything)
}

#[tokio::test]
async fn check_changes_nothing_on_an_empty_server_and_on_one_in_use() -> Result<()> {
    let mongod = LocalMongod::start(Options::for_tests()).await?;
    let settings = Settings::at(mongod.uri(), "reprise");
    let before = everything(mongod.uri()).await?;
    let (report, is_right) = check(&settings, &[]).await?;
    assert!(is_right, "{report}");
    let of_indexes = line(&report, "indexes");
    for part in ["WARN", "none of the ", "--create-indexes"] {
        assert!(of_indexes.contains(part), "{report}");
    }
    assert_eq!(everything(mongod.uri()).await?, before);

    // A service that keeps the search index renews its lease on that all the time, which the server notes as well.
    let service = Service::start(&settings.clone().with("search.enabled", false)).await?;
    let chat = service.client()?.create_chat("Generator").await?;
    chat.append(&[json!({ "role": "user", "content": "hello" })]).await?;
    let before = everything(mongod.uri()).await?;
    let (report, is_right) = check(&settings, &[]).await?;
    assert!(is_right && !report.contains("WARN"), "{report}");
    assert_eq!(everything(mongod.uri()).await?, before);
    service.stop().await?;

    let chats = Client::with_uri_str(mongod.uri()).await?.database("reprise");
    let chats = chats.collection::<Document>("chat_sessions");
    chats.drop_index("idx_status").await?;
    let (report, _) = check(&settings, &[]).await?;
    let missing = "WARN   indexes        1 of ";
    assert!(line(&report, "indexes").starts_with(missing), "{report}");
    assert!(line(&report, "indexes").contains("missing: chat_sessions.idx_status;"), "{report}");
    let (report, is_right) = check(&settings, &["--create-indexes"]).await?;
    assert!(is_right && line(&report, "indexes").starts_with("ok "), "{report}");
    assert!(chats.list_index_names().await?.contains(&"idx_status".to_owned()));

    chats.drop_index("idx_status").await?;
    let other = mongodb::IndexModel::builder().keys(doc! { "status": 1.0 }).build();
    chats.create_index(other).await?;
    let (report, is_right) = check(&settings, &[]).await?;
    assert!(!is_right && line(&report, "indexes").starts_with("FAULT"), "{report}");
    mongod.stop().await;
    Ok(())
}

#[tokio::test]
async fn check_leaves_no_data_directory_behind() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let planned = folder.path().join("data");
    let settings = Settings::embedded(&planned);
    let (report, is_right) = check(&settings, &[]).await?;
    assert!(is_right, "{report}");
    let place = format!("data will be in {}", planned.display());
    assert!(line(&report, "connection").ends_with(&place), "{report}");
    assert_eq!(folder.path().read_dir()?.count(), 0);

    let file = folder.path().join("file");
    std::fs::write(&file, "")?;
    let (report, is_right) = check(&Settings::embedded(&file), &[]).await?;
    assert!(!is_right && line(&report, "connection").starts_with("FAULT"), "{report}");
    Ok(())
}

#[tokio::test]
async fn check_tells_what_would_keep_a_service_from_working() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let taken = taken.local_addr()?;
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    let tokens = settings.clone().with("auth.mode", "jwt").with("auth.algorithm", "RS256");
    let no_issuer = tokens.with("auth.jwks_url", format!("http://{free}/jwks.json"));
    let silent = settings.clone().with("server.listen", taken);
    let foreign = settings.clone().with("server.listen", "192.0.2.1:8080");
    let foreign = foreign.with("auth.mode", "jwt").with("auth.algorithm", "HS256");
    let foreign = foreign.with("auth.secret", "a secret of at least thirty-two bytes");
    for (broken, subject, advice) in [
        (silent, "address", "choose another address with server.listen"),
        (foreign, "address", "choose another address with server.listen"),
        (no_issuer, "issuers", "what auth.jwks_url names cannot be used"),
    ] {
        let (report, is_right) = check(&broken, &[]).await?;
        let found = line(&report, subject);
        assert!(!is_right && found.starts_with("FAULT") && found.contains(advice), "{report}");
    }

    let formats = database.raw().collection::<Document>("store_format");
    let newer = doc! { "_id": "format", "schema_version": 1_i64, "format": 99_i64 };
    let changed_at = mongodb::bson::DateTime::now();
    formats
        .insert_one(
            [newer, doc! { "changed_at": changed_at }].into_iter().flatten().collect::<Document>(),
        )
        .await?;
    let (report, is_right) = check(&settings, &[]).await?;
    assert!(!is_right && line(&report, "format").contains("upgrade this program"), "{report}");
    Ok(())
}

#[tokio::test]
async fn check_says_everything_that_serve_refuses() -> Result<()> {
    let database = Database::create().await?;
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    let settings = Settings::of(&database).with("server.listen", free);
    let listening = |settings: Settings, adapter: &str, port: u16| {
        let of = |setting: &str| format!("adapters.{adapter}.{setting}");
        let settings = settings.with(&of("enabled"), true).with(&of("app_id"), APP);
        settings.with(&of("listen"), format!("127.0.0.1:{port}"))
    };
    let with = |name: &str, value: &str| settings.clone().with(name, value);
    let traced = with("traces.endpoint", "http://127.0.0.1:1/v1/traces");
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    let both = listening(listening(settings.clone(), "hecate", other), "yao", other);
    for (broken, words) in [
        (listening(settings.clone(), "yao", free.port()), "where server.listen listens already"),
        (both, "where adapters.hecate.listen listens already"),
        (with("mongo.deadline_ms", "0"), "mongo.deadline_ms must be at least 1"),
        (with("mongo.max_pool_size", "0"), "mongo.max_pool_size must be at least 1"),
        (with("mongo.database", "admin"), "which the server keeps for itself"),
        (with("mongo.database", "Local"), "which the server keeps for itself"),
        (with("mongo.database", "a.b"), "mongo.database is \"a.b\": it must have"),
        (traced.clone().with("traces.sample_ratio", "1.5"), "it must be from 0 to 1"),
        (with("traces.endpoint", "localhost:4318"), "a URL that begins with http:// or https://"),
        (with("traces.endpoint", "http://[nowhere"), "a URL that begins with http:// or https://"),
        (with("log.filter", "service=loud"), "log.filter \"service=loud\" cannot be read"),
    ] {
        let refused = within(MAX_WAIT, words, run(&["serve"], &broken)).await??;
        let said = String::from_utf8(refused.stderr)?;
        let reason = said.trim_end().strip_prefix("reprise: ").context(said.clone())?;
        ensure!(!refused.status.success() && reason.contains(words), "{reason}");
        let (report, is_right) = check(&broken, &[]).await?;
        let line = format!("FAULT  configuration  {reason}\n");
        assert!(!is_right && report.contains(&line), "{line} is not in {report}");
    }
    let two = traced.with("traces.sample_ratio", "2").with("mongo.database", "admin");
    let (report, _) = check(&two, &[]).await?;
    let faults = report.lines().filter(|line| line.starts_with("FAULT  configuration")).count();
    assert_eq!(faults, 2, "{report}");

    let unsigned = with("integrity.earlier_key_files", "/etc/reprise/old.pem");
    let (report, is_right) = check(&unsigned, &[]).await?;
    let warning =
        "WARN   configuration  integrity.earlier_key_files is set without integrity.key_file";
    assert!(is_right && report.contains(warning), "{report}");
    Ok(())
}

#[tokio::test]
async fn check_knows_the_address_of_a_running_service() -> Result<()> {
    let database = Database::create().await?;
    let service = Service::start(&Settings::of(&database)).await?;
    let address = service.url().trim_start_matches("http://");
    let settings = Settings::of(&database).with("server.listen", address);
    let (report, is_right) = check(&settings, &[]).await?;
    assert!(is_right && line(&report, "address").starts_with("WARN"), "{report}");

    // An adapter's listener is an address of its own.
    let at = |listen: &str| {
        let settings = Settings::of(&database).with("adapters.hecate.enabled", true);
        settings.with("adapters.hecate.app_id", APP).with("adapters.hecate.listen", listen)
    };
    let mut adapted = Service::start(&at("127.0.0.1:0")).await?;
    adapted.announcement().await?;
    let announced = adapted.announcement().await?;
    let (_, address) = announced.split_once("http://").context("the adapter has no address")?;
    let (report, is_right) = check(&at(address), &[]).await?;
    let of_running = format!("a running service of Reprise listens on {address}");
    assert!(is_right && report.contains(&of_running), "{report}");
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let (report, is_right) = check(&at(&taken.local_addr()?.to_string()), &[]).await?;
    assert!(!is_right && report.contains("with adapters.hecate.listen"), "{report}");
    adapted.stop().await?;
    service.stop().await
}

#[tokio::test]
async fn check_tells_which_rights_a_user_lacks() -> Result<()> {
    let credentials_for = Some("reprise".to_owned());
    let mongod = LocalMongod::start(Options { credentials_for, ..Options::for_tests() }).await?;
    let uri = mongod.uri_with_credentials();
    let uri = uri.expose_secret();
    for (database, is_allowed) in [("reprise", true), ("other", false)] {
        let (report, is_right) = check(&Settings::at(uri, database), &[]).await?;
        let of_rights = line(&report, "rights");
        assert_eq!(is_right, is_allowed, "{report}");
        assert_eq!(of_rights.contains("the role readWrite"), !is_allowed, "{report}");
    }
    mongod.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_user_without_the_right_to_change_streams_is_told_of() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (data_dir, credentials_for) = (Some(folder.path().to_owned()), Some("reprise".to_owned()));
    let options = Options { data_dir, credentials_for, ..Options::for_tests() };
    let mongod = LocalMongod::start(options).await?;
    let at = |user: &str, password: &str, options: &str| {
        mongod.uri().replacen("mongodb://", &format!("mongodb://{user}:{password}@"), 1) + options
    };
    let credentials = std::fs::read_to_string(folder.path().join("credentials"))?;
    let key = credentials.lines().find_map(|line| line.strip_prefix("key ")).context("no key")?;
    // A member of the set may do everything.
    let member = at("__system", key, "&authSource=local&authMechanism=SCRAM-SHA-256");
    let database = Client::with_uri_str(member).await?.database("reprise");
    let actions = [
        "createCollection",
        "createIndex",
        "find",
        "insert",
        "listCollections",
        "listIndexes",
        "remove",
        "update",
    ];
    let privilege =
        doc! { "resource": { "db": "reprise", "collection": "" }, "actions": actions.to_vec() };
    database
        .run_command(doc! { "createRole": "almost", "privileges": [privilege], "roles": [] })
        .await?;
    database
        .run_command(doc! { "createUser": "limited", "pwd": "secret", "roles": ["almost"] })
        .await?;

    let settings = Settings::at(&at("limited", "secret", "&authSource=reprise"), "reprise");
    let (report, is_right) = check(&settings, &[]).await?;
    let of_rights = "FAULT  rights         the user lacks the actions changeStream:";
    assert!(!is_right && report.contains(of_rights), "{report}");
    assert!(!report.contains("transactions and change streams"), "{report}");
    let service = Service::start(&settings).await?;
    let ready = service.client()?.call(Method::GET, "/api/health/ready", None).await?;
    assert_eq!(ready["checks"]["live"], "polling", "{ready}");
    let log = service.logged()?;
    assert_eq!(log.matches("may not open change streams").count(), 1, "{log}");
    service.stop().await?;
    mongod.stop().await;
    Ok(())
}

/// The secondaries stay in the set, and copy nothing.
#[tokio::test]
async fn check_tells_that_no_majority_confirms_writes() -> Result<()> {
    let mongod = LocalMongod::start(Options { members: 3, ..Options::for_tests() }).await?;
    let settings = Settings::at(mongod.uri(), "reprise").with("mongo.deadline_ms", 2_000);
    let (report, is_right) = check(&settings, &[]).await?;
    assert!(is_right, "{report}");
    let primary = mongod.primary().await.map(local_mongod::Member::port);
    for member in mongod.members().iter().filter(|member| Some(member.port()) != primary) {
        let admin = Client::with_uri_str(member.uri()).await?.database("admin");
        let stop = doc! { "configureFailPoint": "stopReplProducer", "mode": "alwaysOn" };
        admin.run_command(stop).await?;
    }
    let w1 = format!("{}&w=1", mongod.uri());
    let traffic = Client::with_uri_str(w1).await?.database(APP).collection("traffic");
    // One reply of the primary may have been on its way.
    for _ in 0..20 {
        traffic.insert_one(doc! {}).await?;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let (report, is_right) = check(&settings, &[]).await?;
    let found = line(&report, "write concern");
    assert!(!is_right && found.starts_with("FAULT"), "{report}");
    mongod.kill_hard().await?;
    Ok(())
}

#[tokio::test]
async fn check_deep_names_what_does_not_fit() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let service = Service::start(&settings).await?;
    let chat = service.client()?.create_chat("Generator").await?;
    chat.append(&[json!({ "role": "user", "content": "hello" })]).await?;
    let (report, is_right) = check(&settings, &["--deep"]).await?;
    assert!(is_right, "{report}");
    let sound = "ok     data           all that is stored of 1 chats with 1 messages, and of 0 documents, fits together";
    assert_eq!(line(&report, "data"), sound);

    let sessions = database.raw().collection::<Document>("chat_sessions");
    sessions.update_many(doc! {}, doc! { "$inc": { "last_sequence": 1_i64 } }).await?;
    let (report, is_right) = check(&settings, &["--deep", "--app", APP]).await?;
    let found = line(&report, "data");
    assert!(!is_right && found.starts_with("FAULT") && found.ends_with("(counters)"), "{report}");
    let registered = run(&["apps", "register", "other_app"], &settings).await?;
    assert!(registered.status.success());
    let (report, is_right) = check(&settings, &["--deep", "--app", "other_app"]).await?;
    assert!(is_right && line(&report, "data").contains("of 0 chats"), "{report}");
    let (report, is_right) = check(&settings, &[]).await?;
    assert!(is_right && !report.contains("data  "), "{report}");
    service.stop().await
}

#[tokio::test]
async fn what_a_server_lacks_is_said_in_one_sentence() -> Result<()> {
    const COMMAND_NOT_SUPPORTED: i32 = 115;
    let mongod = LocalMongod::start(Options::for_tests()).await?;
    let settings = Settings::at(mongod.uri(), "reprise");
    let has_all = "retryable writes, transactions and change streams";
    let check = async || -> Result<String> {
        Ok(String::from_utf8(run(&["check"], &settings).await?.stdout)?)
    };
    let said = check().await?;
    ensure!(said.contains(has_all), "{said}");
    let admin = mongodb::Client::with_uri_str(mongod.uri()).await?.database("admin");
    for (command, sentence) in [
        ("update", "FAULT  features       the server has no retryable writes"),
        ("commitTransaction", "FAULT  features       the server has no transactions"),
        ("aggregate", "WARN   features       the server has no change streams"),
    ] {
        let fails = doc! { "failCommands": [command], "errorCode": COMMAND_NOT_SUPPORTED, "appName": "reprise" };
        let set = doc! { "configureFailPoint": "failCommand", "mode": "alwaysOn", "data": fails };
        admin.run_command(set).await?;
        let said = check().await?;
        ensure!(said.contains(sentence) && !said.contains(has_all), "{command}: {said}");
    }
    mongod.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_server_that_requires_the_stable_api_is_served() -> Result<()> {
    let mongod = LocalMongod::start(Options::for_tests()).await?;
    let admin = mongodb::Client::with_uri_str(mongod.uri()).await?.database("admin");
    admin.run_command(doc! { "setParameter": 1, "requireApiVersion": true }).await?;
    let settings = Settings::at(mongod.uri(), "reprise").with("mongo.deadline_ms", 2_000);
    let refused = run(&["apps", "register", "acme_corp"], &settings).await?;
    ensure!(!refused.status.success(), "the server requires nothing");
    let settings = settings.with("mongo.stable_api", true);
    let check = run(&["check", "--create-indexes"], &settings).await?;
    let said = String::from_utf8(check.stdout)?;
    ensure!(check.status.success() && said.contains("MongoDB 6.0 or newer"), "{said}");
    let service = Service::start(&settings).await?;
    service.client()?.create_chat("Generator").await?;
    service.stop().await?;
    mongod.stop().await;
    Ok(())
}

#[test]
fn every_kind_of_fault_is_explained_to_operators() {
    const OPERATIONS: &str = include_str!("../../../docs/OPERATIONS.md");
    for kind in FaultKind::ALL {
        let row = format!("\n| `{}` | ", kind.as_str());
        assert!(OPERATIONS.contains(&row), "{kind:?} is not in the table");
    }
}
