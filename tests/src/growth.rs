//! The cost of appends while a chat grows, and the sizes of its documents.

mod chat;
mod cost;
mod report;

pub use cost::Cost;
pub use report::Report;

use anyhow::Result;
use indicatif::ProgressBar;
use persistence::mongo::{MongoOptions, MongoStore};

use crate::database::Database;
use chat::GrowingChat;

/// The sizes to which chats are grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Messages of 1 KB in the long chat.
    pub messages: usize,
    /// The size of the large chat, with messages of 100 KB.
    pub megabytes: usize,
}

const SMALL: usize = 1_000;
const LARGE: usize = 100_000;
const MEGABYTE: usize = 1_000_000;

/// Grows three chats, appending one message at a time, and reports the results.
///
/// One becomes long, and one becomes large. One has a context snapshot and an artifact of 1 MiB each,
/// and becomes as long as the first one was when its initial cost was measured.
pub async fn grow(uri: &str, plan: Plan, progress: &ProgressBar) -> Result<Report> {
    let database = Database::on(uri).await?;
    let store = MongoStore::connect(&MongoOptions::new(uri, database.name())).await?;
    persistence::Store::ping(&store).await?;

    let long = GrowingChat::create(&store, SMALL).await?;
    let long_cost = long.grow(plan.messages, progress).await?;
    let large = GrowingChat::create(&store, LARGE).await?;
    let large_cost = large.grow(plan.megabytes * MEGABYTE / LARGE, progress).await?;
    let laden = GrowingChat::create(&store, SMALL).await?;
    laden.lade().await?;
    let laden_cost = laden.grow(long_cost.beginning().len(), progress).await?;

    long.check(long_cost.appends(), progress).await?;
    large.check(large_cost.appends(), progress).await?;
    laden.check(laden_cost.appends(), progress).await?;
    let largest = database.largest_documents().await?;
    Ok(Report { long: long_cost, large: large_cost, laden: laden_cost, largest })
}
