//! The audit log in the database: entries are stored with their actions or not at all, expire, and contain no names.

use std::sync::Arc;
use std::time::Duration;

use bson::{Bson, Document, doc};
use persistence::{
    AccessKeys, Apps, AuditFilter, AuditLog, Billing, Calls, ChatSessions, Exchanges, Members,
    Participants, Revocations, StoreError,
};
use records::{
    AccessKeyKind, AccessKeySecret, Actor, ActorRole, AppId, AppStatus, AuditAction, Bearer,
    CallId, Caller, ChatId, ChatStatus, FieldChange, MemberRole, Network, NewAccessKey,
    NewChatSession, NewProviderCall, NewRevocation, Origin, Permission, RevocationKey,
    RevocationTarget, Scope, SettingsChange, TokenId, UserId, WorkflowName,
};

use super::database::Database;
use super::faults::{self, FailPoint};
use super::goldens::golden;

fn user(id: &str) -> UserId {
    UserId::parse(id).unwrap()
}

fn service() -> Scope {
    Scope::service(AppId::parse("acme_corp").unwrap())
}

fn origin() -> Origin {
    let network = Network::containing("198.51.100.77".parse().unwrap());
    let request_id = "0198d4b2-c0de-7000-8000-00000000abcd".parse().ok();
    Origin { network: Some(network), request_id }
}

fn manager() -> Scope {
    let caller = Caller::Support { user_id: user("Sue Support") };
    let scope = Scope::new(service().app_id, caller, Permission::Manage);
    Scope { origin: Some(Arc::new(origin())), ..scope }
}

/// Returns a key whose random bytes are all this one.
fn key(byte: u8) -> NewAccessKey {
    NewAccessKey {
        secret: AccessKeySecret::from_random(&[byte; AccessKeySecret::RANDOM_BYTES]),
        kind: AccessKeyKind::Api,
        label: None,
        bearer: Bearer::User { user_id: user("Bob Builder"), team_id: None },
        apps: Some(vec![service().app_id]),
        expires_at: None,
    }
}

/// Returns the revocation of a key that was revoked.
fn of_revoked_key() -> RevocationKey {
    let target = RevocationTarget::Token(TokenId::parse(key(1).secret.id().as_str()).unwrap());
    RevocationKey { target, app_id: None }
}

/// Creates a chat with a member who takes part, and with a call; and two keys, of which the first is revoked. Nothing of
/// this is audited.
async fn some_chat(database: &Database) -> ChatId {
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    let chat_id = database.create_chat(&service(), new).await.unwrap().chat_id;
    database.join_chat(&service(), &chat_id, &user("Bob Builder"), None).await.unwrap();
    let call = NewProviderCall { call_id: Some(call_id()), ..NewProviderCall::default() };
    database.record_calls(&service(), &chat_id, vec![call], Billing::Free).await.unwrap();
    for byte in [1, 2] {
        database.create_access_key(None, key(byte)).await.unwrap();
    }
    database.revoke_access_key(None, &key(1).secret.id()).await.unwrap().unwrap();
    chat_id
}

fn call_id() -> CallId {
    CallId::parse("call_1").unwrap()
}

/// Every kind of change that is audited, in an order in which all of them can be made.
const CHANGES: [&str; 15] = [
    "add",
    "change role",
    "remove member",
    "remove participant",
    "complete",
    "reopen",
    "fail",
    "delete call",
    "register",
    "create key",
    "revoke key",
    "revoke tokens",
    "lift",
    "disable",
    "update app",
];

async fn change(database: &Database, chat_id: &ChatId, what: &str) -> Result<(), StoreError> {
    let (scope, bob, eve) = (manager(), user("Bob Builder"), user("Eve Else"));
    let operator =
        Actor { role: ActorRole::Operator, person: Some(user("Olga Operator")), origin: origin() };
    let (app_id, reader) = (&scope.app_id, MemberRole::Reader);
    let set = async |status| database.set_status(&scope, chat_id, status, None).await.map(drop);
    let disabled = AppStatus::Disabled;
    match what {
        "add" => database.put_member(&scope, chat_id, &eve, reader).await.map(drop),
        "change role" => database.put_member(&scope, chat_id, &bob, reader).await.map(drop),
        "remove member" => database.remove_member(&scope, chat_id, &bob).await,
        "remove participant" => database.leave_chat(&scope, chat_id, &bob).await,
        "complete" => set(ChatStatus::Completed).await,
        "reopen" => set(ChatStatus::Running).await,
        "fail" => set(ChatStatus::Failed).await,
        "delete call" => database.delete_call(&service(), chat_id, &call_id()).await,
        "register" => database.register_app(&operator, app_id).await.map(drop),
        "create key" => database.create_access_key(Some(&operator), key(3)).await.map(drop),
        "revoke key" => {
            let id = key(2).secret.id();
            database.revoke_access_key(Some(&operator), &id).await.map(drop)
        }
        "revoke tokens" => {
            let target = RevocationTarget::User(eve);
            let key = RevocationKey { target, app_id: Some(app_id.clone()) };
            let new = NewRevocation { key, issued_until: None, expires_at: None };
            database.revoke(&operator, new).await.map(drop)
        }
        "lift" => database.lift_revocation(&operator, &of_revoked_key()).await.map(drop),
        "update app" => {
            let users_may_run = FieldChange::Set(true);
            let change = SettingsChange { users_may_run, ..SettingsChange::default() };
            database.update_app(&operator, app_id, change).await.map(drop)
        }
        _ => database.set_app_status(&operator, app_id, disabled).await.map(drop),
    }
}

async fn entries(database: &Database) -> usize {
    database.all("audit_entries").await.len()
}

/// Makes the server refuse every further entry of the log, or accept them again.
async fn refuse_entries(database: &Database, is_refused: bool) {
    let validator = if is_refused {
        doc! { "_id": 0 }
    } else {
        Document::new()
    };
    let change = doc! { "collMod": "audit_entries", "validator": validator };
    database.raw.run_command(change).await.unwrap();
}

#[tokio::test]
async fn an_action_whose_entry_cannot_be_stored_is_not_applied() {
    let database = Database::create().await;
    let chat_id = some_chat(&database).await;
    let collections = [
        "chat_sessions",
        "chat_participants",
        "provider_calls",
        "status_changes",
        "apps",
        "access_keys",
        "revocations",
    ];
    let mut before = Vec::new();
    for collection in collections {
        before.push(database.all(collection).await);
    }
    refuse_entries(&database, true).await;
    for action in CHANGES {
        let answer = change(&database, &chat_id, action).await;
        // The chat stays as it is, and no app is registered.
        match action {
            "reopen" => answer.unwrap(),
            "disable" | "update app" => {
                assert!(matches!(answer, Err(StoreError::AppNotFound(_))));
            }
            _ => assert!(matches!(answer, Err(StoreError::Refused { .. })), "{action}: {answer:?}"),
        }
    }
    let read = database.record_chat_read(&manager(), Some(&chat_id), AuditAction::ReadChat).await;
    assert!(matches!(read, Err(StoreError::Refused { .. })), "{read:?}");
    for (collection, before) in collections.into_iter().zip(before) {
        assert_eq!(database.all(collection).await, before, "{collection}");
    }
    let sweep = AuditAction::SweepLeases;
    let recorded = database.record_action(&Actor::command_line(), None, None, sweep).await;
    assert!(matches!(recorded, Err(StoreError::Refused { .. })), "{recorded:?}");
    assert_eq!(entries(&database).await, 0);

    refuse_entries(&database, false).await;
    for (done, action) in CHANGES.into_iter().enumerate() {
        change(&database, &chat_id, action).await.unwrap();
        assert_eq!(entries(&database).await, done + 1, "{action}");
    }
}

#[tokio::test]
async fn an_aborted_attempt_leaves_no_entry() {
    let (server, database) = faults::database().await;
    let chat_id = some_chat(&database).await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    for (done, action) in CHANGES.into_iter().enumerate() {
        let refuse = doc! {
            "failCommands": ["commitTransaction"], "appName": "under-test", "errorCode": 251,
            "errorLabels": ["TransientTransactionError"],
        };
        let point = FailPoint::set(&client, "failCommand", doc! { "times": 2 }, refuse).await;
        change(&database, &chat_id, action).await.unwrap();
        assert_eq!(point.off().await, 2, "{action}");
        assert_eq!(entries(&database).await, done + 1, "{action}");
    }
}

#[tokio::test]
async fn an_action_with_a_lost_acknowledgement_leaves_one_entry() {
    let (_server, proxy, database) = faults::database_behind_proxy().await;
    let chat_id = some_chat(&database).await;
    for (done, action) in CHANGES.into_iter().enumerate() {
        // The second loss is that of the driver's own retry.
        proxy.lose_replies("commitTransaction", 2);
        change(&database, &chat_id, action).await.unwrap();
        assert_eq!(proxy.lost(), 2, "{action}");
        assert_eq!(entries(&database).await, done + 1, "{action}");
    }
    let before = entries(&database).await;
    proxy.lose_replies("insert", 2);
    let sweep = AuditAction::SweepLeases;
    database.record_action(&Actor::command_line(), None, None, sweep).await.unwrap();
    assert_eq!((proxy.lost(), entries(&database).await), (2, before + 1));
    let before = before + 1;
    proxy.lose_replies("insert", 2);
    database.record_chat_read(&manager(), Some(&chat_id), AuditAction::ReadChat).await.unwrap();
    assert_eq!(entries(&database).await, before + 1);
}

#[tokio::test]
async fn an_entry_holds_no_name_no_address_and_no_free_text() {
    let database = Database::create().await;
    let chat_id = some_chat(&database).await;
    for action in CHANGES {
        change(&database, &chat_id, action).await.unwrap();
    }
    database.record_chat_read(&manager(), Some(&chat_id), AuditAction::ReadChat).await.unwrap();
    let is_hexadecimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_pseudonym = |text: &str| text.len() == 64 && is_hexadecimal(text);
    let entries = database.all("audit_entries").await;
    assert_eq!(entries.len(), CHANGES.len() + 1);
    for entry in entries {
        let entry = Document::try_from(entry).unwrap();
        for (field, value) in &entry {
            let is_closed = match (field.as_str(), value) {
                ("_id", Bson::String(id)) => id
                    .strip_prefix("audit_read_")
                    .or(id.strip_prefix("audit_"))
                    .is_some_and(is_hexadecimal),
                ("app_id", value) => *value == Bson::from("acme_corp") || *value == Bson::Null,
                ("chat_id", value) => {
                    *value == Bson::from(chat_id.as_str()) || *value == Bson::Null
                }
                ("action", Bson::String(action)) => action.parse::<AuditAction>().is_ok(),
                ("role", Bson::String(role)) => role.parse::<ActorRole>().is_ok(),
                ("actor" | "subject", Bson::String(person)) => is_pseudonym(person),
                ("persons", Bson::Array(persons)) => {
                    persons.iter().all(|person| is_pseudonym(person.as_str().unwrap()))
                }
                ("network", Bson::String(network)) => network == "198.51.100.0/24",
                ("request_id", Bson::String(id)) => *id == "0198d4b2-c0de-7000-8000-00000000abcd",
                ("at" | "expires_at", Bson::DateTime(_))
                | ("schema_version", Bson::Int64(1))
                | ("actor" | "subject" | "network" | "request_id", Bson::Null) => true,
                _ => false,
            };
            assert!(is_closed, "{field}: {value}");
        }
    }
    // Only the keys name persons, each once for each app, and once for the actions that name no app.
    assert_eq!(database.all("pseudonym_keys").await.len(), 5);
}

#[tokio::test]
async fn entries_expire_as_the_setting_says_when_they_are_written() {
    for days in [Some(400), Some(1), None] {
        let keep = days.map(|days| Duration::from_hours(24 * days));
        let database = Database::create_with(|options| options.audit_keep = keep).await;
        database.register_app(&Actor::command_line(), &service().app_id).await.unwrap();
        let entry = Document::try_from(&*database.all("audit_entries").await[0]).unwrap();
        match keep {
            Some(keep) => {
                let [at, expires] = ["at", "expires_at"].map(|it| *entry.get_datetime(it).unwrap());
                let kept = expires.timestamp_millis() - at.timestamp_millis();
                assert_eq!(kept, i64::try_from(keep.as_millis()).unwrap());
            }
            None => assert_eq!(entry.get("expires_at"), Some(&Bson::Null)),
        }
        let list = database.raw.run_command(doc! { "listIndexes": "audit_entries" }).await.unwrap();
        let indexes = list.get_document("cursor").unwrap().get_array("firstBatch").unwrap();
        let mut indexes = indexes.iter().map(|index| index.as_document().unwrap());
        let ttl = indexes.find(|index| index.get_str("name").unwrap() == "audit_ttl").unwrap();
        assert_eq!(ttl.get("expireAfterSeconds"), Some(&Bson::Int32(0)));
        assert_eq!(ttl.get_document("key").unwrap(), &doc! { "expires_at": 1 });
    }
}

#[tokio::test]
async fn an_audit_entry_and_a_key_of_version_1_load() {
    let database = Database::create().await;
    database.insert("audit_entries", golden("audit_entry", 1)).await;
    database.insert("pseudonym_keys", golden("pseudonym_key", 1)).await;
    let app_id = service().app_id;
    let person = database.get_pseudonym(Some(&app_id), &user("alice")).await.unwrap();
    assert!(person.is_some());
    let filter = AuditFilter { person, app_id: Some(app_id), ..AuditFilter::default() };
    let page = database.list_audit_entries(&filter, 10, None).await.unwrap();
    insta::assert_debug_snapshot!("audit_entries_v1", page);
}
