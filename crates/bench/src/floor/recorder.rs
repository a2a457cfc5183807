use anyhow::{Result, ensure};
use async_trait::async_trait;
use bson::raw::RawDocumentBuf;
use bson::{Bson, Document, doc};
use futures::TryStreamExt as _;
use futures::future::try_join_all;
use mongodb::Database;

use super::Floor;
use crate::measure::Read;

/// Records the finds that other clients send to a database, with the profiler of the server.
#[derive(Debug)]
pub(crate) struct Recorder {
    database: Database,
}

/// Finds that another client has sent, to be sent again by the driver alone.
#[derive(Debug)]
pub(crate) struct RecordedFinds {
    database: Database,
    commands: Vec<Document>,
}

/// What the server says about the execution of finds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Execution {
    pub(crate) examined_documents: i64,
    pub(crate) examined_keys: i64,
    pub(crate) returned: i64,
}

const COLLECTION: &str = "chat_sessions";
const PROFILE: &str = "system.profile";

/// The fields of a recorded command that describe the find itself.
const OF_FIND: [&str; 6] = ["find", "filter", "sort", "projection", "hint", "limit"];

impl Recorder {
    /// Records in the store's database.
    pub(crate) fn of(floor: &Floor, store: &str) -> Self {
        Self { database: floor.database.client().database(store) }
    }

    /// Begins to record.
    pub(crate) async fn begin(&self) -> Result<()> {
        self.database.run_command(doc! { "profile": 2 }).await?;
        Ok(())
    }

    /// Ends, and returns the finds of sessions since the beginning, in the order in which they ended. Of an aggregation this is the
    /// find that its first stages make: lists by metadata add to it what they check.
    pub(crate) async fn end(&self) -> Result<RecordedFinds> {
        self.database.run_command(doc! { "profile": 0 }).await?;
        let profile = self.database.collection::<RawDocumentBuf>(PROFILE);
        let of_sessions =
            [doc! { "command.find": COLLECTION }, doc! { "command.aggregate": COLLECTION }];
        let finds = profile.find(doc! { "$or": of_sessions.to_vec() });
        let found: Vec<_> = finds.sort(doc! { "$natural": 1 }).await?.try_collect().await?;
        profile.drop().await?;
        let commands = found.iter().map(|raw| {
            let command = Document::try_from(raw.get_document("command")?)?;
            let command =
                if command.contains_key("aggregate") { find_of(&command)? } else { command };
            let kept = command.into_iter().filter(|(field, _)| OF_FIND.contains(&field.as_str()));
            Ok(kept.collect())
        });
        let commands = commands.collect::<Result<_>>()?;
        Ok(RecordedFinds { database: self.database.clone(), commands })
    }
}

impl RecordedFinds {
    /// Asks the server how it executes the finds.
    pub(crate) async fn explain(&self) -> Result<Execution> {
        let mut sum = Execution::default();
        for command in &self.commands {
            let explain = doc! { "explain": command, "verbosity": "executionStats" };
            let answer = self.database.run_command(explain).await?;
            let stats = answer.get_document("executionStats")?;
            sum.examined_documents += count(stats, "totalDocsExamined")?;
            sum.examined_keys += count(stats, "totalKeysExamined")?;
            sum.returned += count(stats, "nReturned")?;
        }
        Ok(sum)
    }

    async fn run(&self, command: &Document) -> Result<usize> {
        let mut command = command.clone();
        command.insert("readConcern", doc! { "level": "majority" });
        let cursor = self.database.run_raw_cursor_command(RawDocumentBuf::try_from(&command)?);
        let cursor = cursor.await?.with_type::<RawDocumentBuf>();
        Ok(cursor.try_collect::<Vec<_>>().await?.len())
    }
}

/// Returns the find that the first stages of an aggregation make.
fn find_of(aggregation: &Document) -> Result<Document> {
    let mut find = doc! { "find": COLLECTION, "hint": aggregation.get_document("hint")? };
    for stage in aggregation.get_array("pipeline")?.iter().filter_map(Bson::as_document) {
        for (name, value) in stage {
            let field = match name.as_str() {
                "$match" => "filter",
                "$sort" => "sort",
                "$limit" => "limit",
                "$project" => "projection",
                _ => return Ok(find),
            };
            find.insert(field, value);
        }
    }
    Ok(find)
}

/// Returns a count, which is an integer of either size.
fn count(stats: &Document, field: &str) -> Result<i64> {
    let long = stats.get_i64(field).ok();
    Ok(long.map_or_else(|| stats.get_i32(field).map(i64::from), Ok)?)
}

#[async_trait]
impl Read for RecordedFinds {
    /// Sends the finds of all ranges at once, and after them those that read the chats that these have found.
    async fn read(&self) -> Result<()> {
        let by_ids = |command: &&Document| {
            command.get_document("hint").is_ok_and(|hint| hint.keys().eq(["_id"]))
        };
        let (then, first): (Vec<_>, Vec<_>) = self.commands.iter().partition(by_ids);
        let found = try_join_all(first.into_iter().map(|command| self.run(command))).await?;
        try_join_all(then.into_iter().map(|command| self.run(command))).await?;
        ensure!(!found.is_empty(), "no find was recorded");
        Ok(())
    }
}
