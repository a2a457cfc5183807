//! The floors: the same work with the driver alone, without any crate of this project.
//!
//! The driver is named here and nowhere else in this crate.

mod copies;
mod counter;
mod insert;
mod list;
mod message;
mod recorder;
mod session;
mod watch;
mod window;

pub(crate) use copies::{CUSTOMER, Copies, SessionRow};
pub(crate) use counter::CountThenInsert;
pub(crate) use insert::{InsertMany, InsertOne};
pub(crate) use list::ListSessions;
pub(crate) use recorder::{Execution, Recorder};
pub(crate) use session::ReadSession;
pub(crate) use watch::Watch;
pub(crate) use window::ReadWindow;

use std::time::Duration;

use anyhow::Result;
use bson::doc;
use mongodb::options::{Acknowledgment, ClientOptions, ReadConcern, ReadPreference, WriteConcern};
use mongodb::{Client, Database};

/// A database that the floors read and write, over connections of its own.
#[derive(Debug, Clone)]
pub(crate) struct Floor {
    database: Database,
}

impl Floor {
    /// Connects with the same settings as the store's own client, so that only the code differs.
    pub(crate) async fn connect(uri: &str, database: &str, max_pool_size: u32) -> Result<Self> {
        let mut options = ClientOptions::parse(uri).await?;
        options.app_name = Some("bench floor".to_owned());
        options.connect_timeout = Some(Duration::from_millis(1_500));
        options.heartbeat_freq = Some(Duration::from_millis(500));
        options.server_selection_timeout = Some(Duration::from_secs(5));
        options.max_pool_size = Some(max_pool_size);
        options.retry_reads = Some(true);
        options.retry_writes = Some(true);
        options.selection_criteria = Some(ReadPreference::Primary.into());
        options.read_concern = Some(ReadConcern::majority());
        let journaled = WriteConcern::builder().w(Acknowledgment::Majority).journal(true).build();
        options.write_concern = Some(journaled);
        Ok(Self { database: Client::with_options(options)?.database(database) })
    }

    /// Returns the version of the server.
    pub(crate) async fn server_version(&self) -> Result<String> {
        let reply = self.database.run_command(doc! { "buildInfo": 1 }).await?;
        Ok(reply.get_str("version")?.to_owned())
    }

    /// Returns the process id of the server.
    pub(crate) async fn server_pid(&self) -> Result<u32> {
        let reply = self.database.run_command(doc! { "serverStatus": 1 }).await?;
        Ok(reply.get_i64("pid")?.try_into()?)
    }

    /// Returns how many inserts were sent to the server since its start.
    pub(crate) async fn inserts_sent(&self) -> Result<f64> {
        let reply = self.database.run_command(doc! { "serverStatus": 1 }).await?;
        let commands = reply.get_document("metrics")?.get_document("commands")?;
        Ok(commands.get_document("insert")?.get_i64("total")? as f64)
    }

    /// Removes all indexes of a collection of another database, except that of the ids.
    pub(crate) async fn drop_indexes(&self, other: &str, collection: &str) -> Result<()> {
        let drop = doc! { "dropIndexes": collection, "index": "*" };
        self.database.client().database(other).run_command(drop).await?;
        Ok(())
    }

    /// Returns how many bytes a collection of another database takes on disk, with its indexes.
    pub(crate) async fn stored_bytes(&self, other: &str, collection: &str) -> Result<f64> {
        let database = self.database.client().database(other);
        let reply = database.run_command(doc! { "collStats": collection }).await?;
        let bytes = |field| match reply.get(field) {
            Some(bson::Bson::Int32(bytes)) => f64::from(*bytes),
            Some(bson::Bson::Int64(bytes)) => *bytes as f64,
            Some(bson::Bson::Double(bytes)) => *bytes,
            _ => 0.0,
        };
        Ok(bytes("storageSize") + bytes("totalIndexSize"))
    }

    /// Removes this database and others.
    pub(crate) async fn drop_databases(self, others: &[&str]) -> Result<()> {
        for other in others {
            self.database.client().database(other).drop().await?;
        }
        Ok(self.database.drop().await?)
    }
}
