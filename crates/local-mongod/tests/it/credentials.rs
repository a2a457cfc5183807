//! A server that requires credentials, which only the owner of its data directory can read.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use local_mongod::{Error, LocalMongod, Options, attach};
use mongodb::Client;
use mongodb::bson::{Document, doc};
use mongodb::error::ErrorKind;
use secrecy::ExposeSecret as _;

use crate::driver;

const UNAUTHORIZED: i32 = 13;

fn on(data_dir: &Path) -> Options {
    Options { data_dir: Some(data_dir.to_owned()), ..Options::for_tests() }
}

/// The same for the user of the database of [`driver::store`].
fn protected(data_dir: &Path) -> Options {
    Options { credentials_for: Some(driver::DATABASE.to_owned()), ..on(data_dir) }
}

fn uri_of(server: &LocalMongod) -> String {
    server.uri_with_credentials().expose_secret().to_owned()
}

fn credentials_in(data_dir: &Path) -> PathBuf {
    data_dir.join("credentials")
}

/// The text after a name in the file of the credentials.
fn secret(data_dir: &Path, name: &str) -> Result<String> {
    let content = fs::read_to_string(credentials_in(data_dir))?;
    let mut pairs = content.lines().filter_map(|line| line.split_once(' '));
    let (_, value) = pairs.find(|(key, _)| *key == name).context("not in the file")?;
    Ok(value.to_owned())
}

/// The code with which the server refuses a command, if it does.
async fn refusal(uri: &str, database: &str, command: Document) -> Result<Option<i32>> {
    match Client::with_uri_str(uri).await?.database(database).run_command(command).await {
        Ok(_) => Ok(None),
        Err(error) => match *error.kind {
            ErrorKind::Command(ref refused) => Ok(Some(refused.code)),
            _ => Err(error.into()),
        },
    }
}

#[tokio::test]
async fn without_credentials_nothing_can_be_read() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let server = LocalMongod::start(protected(dir.path())).await?;
    driver::store(&uri_of(&server), "kept").await?;

    let read = refusal(server.uri(), driver::DATABASE, doc! { "find": "notes" }).await?;
    assert_eq!(read, Some(UNAUTHORIZED));
    // A local account must not be able to make a user for itself either.
    let user = doc! { "createUser": "stranger", "pwd": "x", "roles": ["root"] };
    assert_eq!(refusal(server.uri(), "admin", user).await?, Some(UNAUTHORIZED));

    let attached = attach(dir.path()).await?.context("no server")?;
    assert_eq!(driver::stored(attached.uri().expose_secret()).await?, ["kept"]);
    server.stop().await;
    Ok(())
}

#[tokio::test]
async fn the_user_may_use_its_database_and_nothing_else() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let server = LocalMongod::start(protected(dir.path())).await?;
    let uri = uri_of(&server);
    let index = doc! { "key": { "text": 1 }, "name": "text" };
    let changes = doc! { "$changeStream": {} };
    for allowed in [
        doc! { "createIndexes": "notes", "indexes": [index] },
        doc! { "aggregate": 1, "pipeline": [changes], "cursor": {} },
        doc! { "listCollections": 1 },
        doc! { "ping": 1 },
        doc! { "buildInfo": 1 },
    ] {
        let refused = refusal(&uri, driver::DATABASE, allowed.clone()).await?;
        assert_eq!(refused, None, "{allowed}");
    }
    for (database, refused) in [
        ("another", doc! { "find": "notes" }),
        ("another", doc! { "insert": "notes", "documents": [doc! {}] }),
        ("local", doc! { "find": "oplog.rs" }),
        ("admin", doc! { "find": "system.users" }),
        ("admin", doc! { "createUser": "second", "pwd": "x", "roles": ["root"] }),
        ("admin", doc! { "serverStatus": 1 }),
        ("admin", doc! { "getCmdLineOpts": 1 }),
        ("admin", doc! { "getLog": "global" }),
        ("admin", doc! { "currentOp": 1 }),
        ("admin", doc! { "replSetGetConfig": 1 }),
        ("admin", doc! { "setParameter": 1, "logLevel": 1 }),
        ("admin", doc! { "shutdown": 1 }),
        (driver::DATABASE, doc! { "dropDatabase": 1 }),
        (driver::DATABASE, doc! { "profile": 2 }),
        (driver::DATABASE, doc! { "createUser": "second", "pwd": "x", "roles": ["readWrite"] }),
    ] {
        let code = refusal(&uri, database, refused.clone()).await?;
        assert_eq!(code, Some(UNAUTHORIZED), "{database}: {refused}");
    }
    server.stop().await;
    Ok(())
}

#[tokio::test]
async fn javascript_cannot_be_run() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let server = LocalMongod::start(protected(dir.path())).await?;
    let uri = uri_of(&server);
    driver::store(&uri, "kept").await?;
    let function = doc! { "body": "function() { return true }", "args": [], "lang": "js" };
    for script in [
        doc! { "find": "notes", "filter": { "$where": "true" } },
        doc! { "find": "notes", "filter": { "$expr": { "$function": function } } },
    ] {
        let code = refusal(&uri, driver::DATABASE, script.clone()).await?;
        assert!(code.is_some_and(|code| code != UNAUTHORIZED), "{script}: {code:?}");
    }
    server.stop().await;
    Ok(())
}

#[tokio::test]
async fn secrets_are_in_private_files_only() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let server = LocalMongod::start(protected(dir.path())).await?;
    driver::store(&uri_of(&server), "kept").await?;
    let secrets = [secret(dir.path(), "password")?, secret(dir.path(), "key")?];
    for private in [credentials_in(dir.path()), dir.path().join("member-0").join("key")] {
        assert_eq!(fs::metadata(&private)?.permissions().mode() & 0o777, 0o600, "{private:?}");
    }

    let shown = format!("{server:?} {:?}", server.uri_with_credentials());
    let held = LocalMongod::start(protected(dir.path())).await;
    let Err(error @ Error::Held { .. }) = held else { bail!("got {held:?}") };
    let held = format!("{error} {error:?}");
    let file = credentials_in(dir.path());
    assert!(held.contains(&format!("user and password in {}", file.display())), "{held}");
    let lock = fs::read_to_string(dir.path().join("local-mongod.lock"))?;
    let log = fs::read_to_string(server.members()[0].log_path())?;
    let processes = processes_with(dir.path())?;
    assert!(processes.contains("mongod"), "{processes}");
    for public in [shown, held, lock, log, processes, server.uri().to_owned()] {
        for secret in &secrets {
            ensure!(!public.contains(secret), "a secret is in {public}");
        }
    }
    server.stop().await;
    Ok(())
}

/// Command line and environment of every process with this text in its command line.
fn processes_with(data_dir: &Path) -> Result<String> {
    let mut found = String::new();
    for process in fs::read_dir("/proc")?.flatten() {
        let read = |what: &str| fs::read(process.path().join(what)).unwrap_or_default();
        let line = String::from_utf8_lossy(&read("cmdline")).into_owned();
        if line.contains(&*data_dir.to_string_lossy()) {
            found += &line;
            found += &String::from_utf8_lossy(&read("environ"));
        }
    }
    Ok(found)
}

#[tokio::test]
async fn a_directory_without_credentials_gets_them_and_keeps_its_data() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let before = LocalMongod::start(on(dir.path())).await?;
    driver::store(before.uri(), "kept").await?;
    before.kill_hard().await?;
    before.stop().await;

    let server = LocalMongod::start(protected(dir.path())).await?;
    assert_eq!(driver::stored(&uri_of(&server)).await?, ["kept"]);
    let read = refusal(server.uri(), driver::DATABASE, doc! { "find": "notes" }).await?;
    assert_eq!(read, Some(UNAUTHORIZED));
    server.stop().await;

    // An older release starts it without credentials, as before.
    let older = LocalMongod::start(on(dir.path())).await?;
    assert_eq!(driver::stored(older.uri()).await?, ["kept"]);
    older.stop().await;
    Ok(())
}

type Harm<'a> = &'a dyn Fn() -> std::io::Result<()>;

/// The states in which a kill can leave a directory, and those that people cause.
#[tokio::test]
async fn whatever_is_missing_is_made_at_the_next_start() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path();
    let first = LocalMongod::start(protected(path)).await?;
    driver::store(&uri_of(&first), "kept").await?;
    first.stop().await;
    let old = secret(path, "password")?;

    let lose_file = || fs::remove_file(credentials_in(path));
    let lose_key = || fs::remove_file(path.join("member-0").join("key"));
    let cut = || fs::write(credentials_in(path), "user reprise\npassw");
    let expose = || fs::set_permissions(credentials_in(path), Permissions::from_mode(0o644));
    let leave_a_rest = || fs::write(path.join(".tmpAbCdEf"), "user reprise\npassw");
    let harms: [(&str, Harm<'_>, bool); 5] = [
        ("the file is lost", &lose_file, true),
        ("the key is lost", &lose_key, false),
        ("the file is cut", &cut, true),
        ("other accounts may read the file", &expose, true),
        ("an unfinished file is left", &leave_a_rest, false),
    ];
    let mut password = old;
    for (what, harm, is_replaced) in harms {
        harm()?;
        let server = LocalMongod::start(protected(path)).await.context(what)?;
        assert_eq!(driver::stored(&uri_of(&server)).await?, ["kept"], "{what}");
        let mode = fs::metadata(credentials_in(path))?.permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{what}");
        let new = secret(path, "password")?;
        assert_eq!(new != password, is_replaced, "{what}");
        password = new;
        server.stop().await;
    }
    Ok(())
}

#[tokio::test]
async fn another_database_gets_the_rights_of_the_next_start() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let first = LocalMongod::start(protected(dir.path())).await?;
    driver::store(&uri_of(&first), "kept").await?;
    first.stop().await;

    let other = Options { credentials_for: Some("other".to_owned()), ..on(dir.path()) };
    let second = LocalMongod::start(other).await?;
    let uri = uri_of(&second);
    assert_eq!(refusal(&uri, "other", doc! { "find": "notes" }).await?, None);
    let before = refusal(&uri, driver::DATABASE, doc! { "find": "notes" }).await?;
    assert_eq!(before, Some(UNAUTHORIZED));
    second.stop().await;
    Ok(())
}

#[tokio::test]
async fn three_members_trust_each_other_by_their_key() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let server = LocalMongod::start(Options { members: 3, ..protected(dir.path()) }).await?;
    let uri = uri_of(&server);
    driver::store(&uri, "before").await?;
    server.primary().await.context("no primary")?.kill_hard().await?;
    driver::store(&uri, "after").await?;
    server.restart().await?;
    assert_eq!(driver::stored(&uri).await?, ["before", "after"]);
    for member in server.members() {
        let code = refusal(&member.uri(), driver::DATABASE, doc! { "find": "notes" }).await?;
        assert_eq!(code, Some(UNAUTHORIZED));
    }
    server.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_temporary_server_has_credentials_that_leave_with_it() -> Result<()> {
    let database = Some(driver::DATABASE.to_owned());
    let options = Options { credentials_for: database, ..Options::for_tests() };
    let server = LocalMongod::start(options).await?;
    let read = refusal(server.uri(), driver::DATABASE, doc! { "find": "notes" }).await?;
    assert_eq!(read, Some(UNAUTHORIZED));
    driver::store(&uri_of(&server), "kept").await?;
    server.kill_hard().await?;
    server.restart().await?;
    assert_eq!(driver::stored(&uri_of(&server)).await?, ["kept"]);
    let data_dir = server.data_dir().to_owned();
    server.stop().await;
    assert!(!data_dir.exists());
    Ok(())
}
