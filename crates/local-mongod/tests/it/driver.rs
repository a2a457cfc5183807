//! The driver operations of the tests.

use std::path::PathBuf;

use anyhow::{Context, Result};
use mongodb::bson::{Document, Timestamp, doc};
use mongodb::{Client, Collection};
use serde::{Deserialize, Serialize};

/// The database of the notes.
pub(crate) const DATABASE: &str = "local_mongod";

/// A document to store.
#[derive(Deserialize, Serialize)]
pub(crate) struct Note {
    text: String,
}

#[derive(Deserialize)]
struct OplogEntry {
    ts: Timestamp,
}

/// Stores a text durably.
pub(crate) async fn store(uri: &str, text: &str) -> Result<()> {
    notes(uri).await?.insert_one(Note { text: text.to_owned() }).await?;
    Ok(())
}

/// Returns all stored texts.
pub(crate) async fn stored(uri: &str) -> Result<Vec<String>> {
    let mut cursor = notes(uri).await?.find(doc! {}).await?;
    let mut texts = Vec::new();
    while cursor.advance().await? {
        texts.push(cursor.deserialize_current()?.text);
    }
    Ok(texts)
}

async fn notes(uri: &str) -> Result<Collection<Note>> {
    let client = Client::with_uri_str(format!("{uri}&w=majority&journal=true")).await?;
    Ok(client.database(DATABASE).collection("notes"))
}

/// Runs a command on the `admin` database.
pub(crate) async fn admin(uri: &str, command: Document) -> Result<Document> {
    let client = Client::with_uri_str(uri).await?;
    Ok(client.database("admin").run_command(command).await?)
}

/// Times of the first and the last entry of the oplog of the mongod behind a URI.
pub(crate) async fn oplog_ends(uri: &str) -> Result<(Timestamp, Timestamp)> {
    let client = Client::with_uri_str(uri).await?;
    let oplog = client.database("local").collection::<OplogEntry>("oplog.rs");
    let end = async |order: i32| -> Result<Timestamp> {
        let entry = oplog.find_one(doc! {}).sort(doc! { "$natural": order }).await?;
        Ok(entry.context("an empty oplog")?.ts)
    };
    Ok((end(1).await?, end(-1).await?))
}

/// Process id of the mongod behind a URI.
pub(crate) async fn pid(uri: &str) -> Result<u32> {
    let status = admin(uri, doc! { "serverStatus": 1 }).await?;
    Ok(u32::try_from(status.get_i64("pid")?)?)
}

/// The data directory of the mongod behind a URI.
pub(crate) async fn dbpath(uri: &str) -> Result<PathBuf> {
    let options = admin(uri, doc! { "getCmdLineOpts": 1 }).await?;
    let storage = options.get_document("parsed")?.get_document("storage")?;
    Ok(storage.get_str("dbPath").context("no dbPath")?.into())
}
