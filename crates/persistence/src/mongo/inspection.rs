//! What a command can find out about the server and the database without changing either.

use bson::{Document, doc};
use mongodb::error::ErrorKind;

use super::MongoStore;
use super::collection_names::STORE_FORMAT;
use super::engine::failure::{ErrorClass, Failure, classify_error};
use super::engine::indexes::{self, IndexReport};
use crate::StoreError;

/// What the calls of the store need the right to do in the database. The role `readWrite` includes all of it.
const NEEDED_ACTIONS: [&str; 9] = [
    "changeStream",
    "createCollection",
    "createIndex",
    "find",
    "insert",
    "listCollections",
    "listIndexes",
    "remove",
    "update",
];

impl MongoStore {
    /// Returns the server's version and its role, from the replies to `buildInfo` and `hello`, as JSON. The version is null with
    /// [`stable_api`](super::MongoOptions::stable_api), which `buildInfo` is not part of.
    pub async fn describe_server(&self) -> Result<serde_json::Value, StoreError> {
        let reply = self
            .read(|| async {
                let hello = self.inner.database.run_command(doc! { "hello": 1 }).await?;
                Ok((self.run_if_permitted(doc! { "buildInfo": 1 }).await?, hello))
            })
            .await?;
        let (version, hello) = reply;
        Ok(serde_json::json!({
            "version": version.as_ref().and_then(|version| version.get_str("version").ok()),
            "wire_version": hello.get_i32("maxWireVersion").unwrap_or_default(),
            "set_name": hello.get_str("setName").ok(),
            "is_primary": hello.get_bool("isWritablePrimary").unwrap_or(false),
            "members": hello.get_array("hosts").map_or(0, Vec::len),
        }))
    }

    /// Returns the state of each index, and creates none.
    pub async fn inspect_indexes(&self) -> Result<Vec<IndexReport>, StoreError> {
        indexes::inspect(self).await
    }

    /// Returns the actions that the user of the connection string may not do in the database; none for a server without
    /// authentication. `None` with [`stable_api`](super::MongoOptions::stable_api), which does not tell rights.
    pub async fn missing_rights(&self) -> Result<Option<Vec<&'static str>>, StoreError> {
        let command = doc! { "connectionStatus": 1, "showPrivileges": true };
        let status = self.read(|| self.run_if_permitted(command.clone())).await?;
        Ok(status.map(|status| actions_missing_in(&status, self.inner.database.name())))
    }

    /// Notes it if the user may not open change streams. That it cannot be found out is no fault.
    pub(crate) async fn note_change_stream_rights(&self) {
        let Ok(Some(missing)) = self.missing_rights().await else { return };
        if ["changeStream", "find"].iter().any(|needed| missing.contains(needed)) {
            self.inner.change_streams.record_unauthorized();
        }
    }

    /// Runs a command; `None` if the client has declared the stable API of the server, and the command is not part of it.
    async fn run_if_permitted(&self, command: Document) -> Result<Option<Document>, Failure> {
        const API_STRICT_ERROR: i32 = 323;
        match self.inner.database.run_command(command).await {
            Ok(reply) => Ok(Some(reply)),
            Err(error) => match &*error.kind {
                ErrorKind::Command(refused) if refused.code == API_STRICT_ERROR => Ok(None),
                _ => Err(error.into()),
            },
        }
    }

    /// Returns the features that the store needs and the server lacks. The database stays as it is: the write that is tried
    /// matches no document.
    pub async fn missing_features(&self) -> Result<Vec<MissingFeature>, StoreError> {
        let mut missing = Vec::new();
        let nothing = doc! { "_id": null };
        let write = || async {
            let set = doc! { "$set": { "format": 0 } };
            refusal(self.inner.store_format.update_one(nothing.clone(), set).await)
        };
        if let Some(reason) = self.read(write).await? {
            missing.push(MissingFeature::RetryableWrites(reason));
        }
        let transaction = || async {
            let mut session = self.inner.database.client().start_session().await?;
            session.start_transaction().await?;
            let find = self.inner.store_format.find_one(doc! {}).session(&mut session).await;
            let committed = match find {
                Ok(_) => session.commit_transaction().await,
                Err(error) => Err(error),
            };
            refusal(committed)
        };
        if let Some(reason) = self.read(transaction).await? {
            missing.push(MissingFeature::Transactions(reason));
        }
        let watch = || async { refusal(self.inner.database.watch().await) };
        if let Some(reason) = self.read(watch).await? {
            missing.push(MissingFeature::ChangeStreams(reason));
        }
        Ok(missing)
    }

    /// Waits until a majority of the members has in its journal what the primary has done so far.
    ///
    /// The update matches nothing, and so changes nothing. The server lets it wait like any other.
    pub async fn confirm_majority(&self) -> Result<(), StoreError> {
        // An id is never null.
        let nothing = doc! { "q": { "_id": null }, "u": { "$set": { "format": 0 } } };
        let update = doc! {
            "update": STORE_FORMAT,
            "updates": [nothing],
            "writeConcern": { "w": "majority", "j": true },
        };
        let confirm = || async {
            let reply = self.inner.database.run_command(update.clone()).await?;
            match reply.get_document("writeConcernError") {
                Ok(error) => Err(Failure::NotDurable(message_of(error).into())),
                Err(_) => Ok(()),
            }
        };
        self.read(confirm).await
    }
}

/// Something that a server lacks, with its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingFeature {
    /// Writes that the driver repeats by itself. Without them no write is possible.
    RetryableWrites(String),
    /// Transactions. Without them no write is possible that changes several documents.
    Transactions(String),
    /// Change streams. Without them a service asks for changes again and again.
    ChangeStreams(String),
}

/// Returns why the server refuses what was tried; a fault that may pass, or one of the user, is an error.
fn refusal<T>(tried: mongodb::error::Result<T>) -> Result<Option<String>, Failure> {
    const UNAUTHORIZED: i32 = 13;
    const AUTHENTICATION_FAILED: i32 = 18;
    let is_of_user = |code| [UNAUTHORIZED, AUTHENTICATION_FAILED].contains(&code);
    let Err(error) = tried else { return Ok(None) };
    match &*error.kind {
        ErrorKind::Command(command)
            if !is_of_user(command.code) && classify_error(&error) == ErrorClass::Refused =>
        {
            Ok(Some(format!("{} ({})", command.message, command.code)))
        }
        _ => Err(error.into()),
    }
}

fn message_of(error: &Document) -> String {
    error.get_str("errmsg").unwrap_or("the majority has not confirmed the write").to_owned()
}

/// Returns the needed actions that no privilege in a reply to `connectionStatus` grants.
///
/// A privilege on any collection of the database counts: whether it is on the right ones, only the server knows.
fn actions_missing_in(status: &Document, database: &str) -> Vec<&'static str> {
    let Ok(info) = status.get_document("authInfo") else { return Vec::new() };
    if info.get_array("authenticatedUsers").is_ok_and(Vec::is_empty) {
        return Vec::new();
    }
    let privileges = info.get_array("authenticatedUserPrivileges");
    let privileges = privileges.into_iter().flatten().filter_map(|it| it.as_document());
    let is_of_database = |privilege: &&Document| {
        let Ok(resource) = privilege.get_document("resource") else { return false };
        let of = resource.get_str("db").ok();
        of.is_some_and(|of| of.is_empty() || of == database) || resource.contains_key("anyResource")
    };
    let actions = privileges.filter(is_of_database).filter_map(|it| it.get_array("actions").ok());
    let granted: Vec<&str> = actions.flatten().filter_map(|action| action.as_str()).collect();
    NEEDED_ACTIONS.into_iter().filter(|needed| !granted.contains(needed)).collect()
}
