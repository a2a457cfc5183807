//! Collections of other systems, read as JSON.

use bson::{Bson, Document, RawDocumentBuf};
use chrono::SecondsFormat;
use futures::{Stream, StreamExt as _};
use mongodb::{Client, Collection};
use records::JsonObject;
use secrecy::SecretString;
use serde_json::Value;

use super::MongoOptions;
use super::engine::client::{self, ConnectError};
use super::engine::driver_error::DriverError;
use crate::BoxError;

/// How many documents are fetched at once: those of other systems may be as large as a document can be.
const BATCH: u32 = 64;

/// The collection of another system cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the collection cannot be read")]
pub struct ForeignError(#[source] BoxError);

impl From<mongodb::error::Error> for ForeignError {
    fn from(error: mongodb::error::Error) -> Self {
        Self(DriverError::elsewhere(&error, "its connection string").into())
    }
}

impl From<bson::error::Error> for ForeignError {
    fn from(error: bson::error::Error) -> Self {
        Self(error.into())
    }
}

/// A collection of another system. It is only read.
#[derive(Debug)]
pub struct ForeignCollection {
    client: Client,
    collection: Collection<RawDocumentBuf>,
}

/// What a server has instead of a collection that does not exist.
#[derive(Debug, PartialEq)]
pub enum Instead {
    /// The other collections of the database.
    Collections(Vec<String>),
    /// The other databases: it does not have this one.
    Databases(Vec<String>),
}

impl ForeignCollection {
    /// Connects to the server of another system.
    pub async fn connect(
        uri: SecretString,
        database: &str,
        collection: &str,
    ) -> Result<Self, ConnectError> {
        let options = client::options(&MongoOptions::new(uri, database)).await?;
        let client = Client::with_options(options)?;
        let collection = client.database(database).collection(collection);
        Ok(Self { client, collection })
    }

    /// Returns what there is instead if the collection does not exist; `None` if it does, or if the user may not know.
    pub async fn instead(&self) -> Option<Instead> {
        let namespace = self.collection.namespace();
        let database = self.client.database(&namespace.db);
        let collections = database.list_collection_names().await.ok()?;
        if collections.contains(&namespace.coll) {
            return None;
        }
        if !collections.is_empty() {
            return Some(Instead::Collections(sorted(collections)));
        }
        let mut databases = self.client.list_database_names().await.unwrap_or_default();
        databases.retain(|name| !["admin", "config", "local"].contains(&name.as_str()));
        Some(Instead::Databases(sorted(databases)))
    }

    /// Returns about how many documents there are.
    pub async fn count(&self) -> Result<u64, ForeignError> {
        Ok(self.collection.estimated_document_count().await?)
    }

    /// Reads all documents, ordered by these fields: 1 is upwards, -1 downwards.
    ///
    /// The server sorts, on its disk if need be. Documents that are written meanwhile may be missing. What JSON has no type
    /// for becomes text: an `ObjectId` its hexadecimal digits, a date its time in RFC 3339, a decimal its digits, anything
    /// else how MongoDB's tools show it.
    pub async fn documents(
        &self,
        order: &[(&str, i32)],
    ) -> Result<impl Stream<Item = Result<JsonObject, ForeignError>>, ForeignError> {
        let sort: Document =
            order.iter().map(|(field, way)| ((*field).to_owned(), Bson::Int32(*way))).collect();
        let find = self.collection.find(Document::new()).sort(sort);
        let found = find.allow_disk_use(true).batch_size(BATCH).await?;
        Ok(found.map(|raw| Ok(plain_object(Document::try_from(raw?)?))))
    }
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names
}

fn plain_object(document: Document) -> JsonObject {
    document.into_iter().map(|(key, value)| (key, plain(value))).collect()
}

fn plain(value: Bson) -> Value {
    match value {
        Bson::Document(document) => plain_object(document).into(),
        Bson::Array(items) => items.into_iter().map(plain).collect(),
        Bson::ObjectId(id) => id.to_hex().into(),
        Bson::DateTime(time) => {
            time.to_chrono().to_rfc3339_opts(SecondsFormat::Millis, true).into()
        }
        Bson::Decimal128(number) => number.to_string().into(),
        Bson::Null | Bson::Undefined => Value::Null,
        Bson::Boolean(flag) => flag.into(),
        Bson::String(text) | Bson::Symbol(text) => text.into(),
        Bson::Int32(number) => number.into(),
        Bson::Int64(number) => number.into(),
        Bson::Double(number) if number.is_finite() => number.into(),
        other => other.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use bson::{doc, oid::ObjectId};
    use serde_json::json;

    use super::*;

    #[test]
    fn types_that_json_lacks_become_text() {
        let id = ObjectId::parse_str("6507f1b2e4b0c8a9d2f3e4a5").unwrap();
        let time = bson::DateTime::from_millis(1_759_399_200_000);
        let document = doc! {
            "_id": id, "at": time, "list": [1_i64 << 40, 1.5, 2.0, true, Bson::Null],
            "nan": f64::NAN, "old": Bson::Symbol("x".to_owned()),
            "sub": { "$oid": "not an id" },
        };
        let expected = json!({
            "_id": "6507f1b2e4b0c8a9d2f3e4a5", "at": "2025-10-02T10:00:00.000Z",
            "list": [1_i64 << 40, 1.5, 2.0, true, null],
            "nan": "NaN", "old": "x",
            "sub": { "$oid": "not an id" },
        });
        assert_eq!(Value::Object(plain_object(document)), expected);
    }
}
