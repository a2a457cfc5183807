//! What a command can find out about the server and the database without changing either.

use bson::{Document, doc};

use super::MongoStore;
use super::collection_names::STORE_FORMAT;
use super::engine::failure::Failure;
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
    /// Returns the server's version and its role, from the replies to `buildInfo` and `hello`, as JSON.
    pub async fn describe_server(&self) -> Result<serde_json::Value, StoreError> {
        let reply = self
            .read(|| async {
                let version = self.inner.database.run_command(doc! { "buildInfo": 1 }).await?;
                let hello = self.inner.database.run_command(doc! { "hello": 1 }).await?;
                Ok((version, hello))
            })
            .await?;
        let (version, hello) = reply;
        Ok(serde_json::json!({
            "version": version.get_str("version").unwrap_or("unknown"),
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
    /// authentication.
    pub async fn missing_rights(&self) -> Result<Vec<&'static str>, StoreError> {
        let command = doc! { "connectionStatus": 1, "showPrivileges": true };
        let status = || async { Ok(self.inner.database.run_command(command.clone()).await?) };
        let status = self.read(status).await?;
        Ok(actions_missing_in(&status, self.inner.database.name()))
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
