//! The scenarios, one file for each.

mod append;
mod append_batch;
mod append_growth;
mod append_hot;
mod append_in_turn;
mod append_indexes;
mod append_many;
mod append_members;
mod calls_hot;
mod http_append;
mod http_resume;
mod join;
mod list;
mod lists_million;
mod live_fanout;
mod live_latency;
mod live_processes;
mod purge;
mod resume;
mod resume_plan;
mod search;
mod stats;
mod streams;
mod tail;
mod turn;

use anyhow::Result;
use clap::ValueEnum;

use crate::report::Findings;
use crate::stage::Stage;

/// The scenarios; the text of each is shown by `--help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// One writer, one chat, one message at a time; floor: `insert_one` of the same message
    Append,
    /// The last of 100,000 messages of a chat; floor: its first ones, and those of a fresh chat
    AppendGrowth,
    /// 16 writers, one chat; floors: 16 writers of `insert_one`, and of a counter, then `insert_one`
    AppendHot,
    /// 64 writers, each with a chat of its own; floor: 64 writers of `insert_one`
    AppendMany,
    /// One writer, one chat with 256 members, as a service and as one of them; floor: a chat without members
    AppendMembers,
    /// Appends with all indexes of the sessions: to one chat, to 10,000 one after the other and to 64 at once; floor: the
    /// same without these indexes
    AppendIndexes,
    /// Appends with all indexes of the sessions: to 10,000 chats of users one after the other, at any minute, and to one
    /// chat; floor: the same without these indexes
    AppendInTurn,
    /// Batches of 100 messages, from one writer and from 8; floor: `insert_many` of the same
    AppendBatch,
    /// A chat of 2,000 messages, in the format from which AG2 resumes, with its context snapshot and its
    /// artifact; floor: the same stored documents as raw bytes
    Resume,
    /// The same from one snapshot, with the plan; floors: the documents as raw bytes, the calls one by one
    ResumePlan,
    /// A turn of six messages and five steps in one write, completed or broken off; floors: `insert_one` of one
    /// message, and eleven single writes
    Turn,
    /// The newest 50 of 100,000 messages; floor: `find_one` of one document that holds 50
    Tail,
    /// The newest 20 of 10,000 sessions; floor: the same find
    List,
    /// Every combination of the table of served lists, in an app of 1,000,000 sessions; floor: the same finds
    ListsMillion,
    /// 100,000 chats that are purged because their retention is over, beside appends
    Purge,
    /// An append through the service on loopback; floor: the library's call
    HttpAppend,
    /// A resume through the service on loopback, whole and by request; floor: the library's calls
    HttpResume,
    /// Calls of one workflow, from 64 writers; floor: calls of 64 workflows
    CallsHot,
    /// The stats of a workflow with 100,000 and with 1,000,000 calls; floor: with 1,000
    Stats,
    /// The time from an append to its event at a subscriber, over HTTP, with the service in the same process
    /// and in another one, and its delay after the acknowledgement; floor: `insert_one`, and a change stream
    /// of the driver
    LiveLatency,
    /// The same for 2,000 subscribers of one chat, and for 2,000 chats with one subscriber each, and the memory
    /// of the service for each of them; floor: one subscriber of one chat
    LiveFanout,
    /// 1, 4 and 16 service processes, each with subscribers of 10 chats, beside 3,000 appends a second to other chats: the
    /// CPU time of the server and of each process, and the delay of the events
    LiveProcesses,
    /// What agents are producing: the time from a chunk to its event at a subscriber of another process, 200 viewers of
    /// one stream, and 1,000 streams at once; floor: the same for a message
    Streams,
    /// Joining a chat of 10,000 messages, over HTTP, to its first message and to the boundary; floor: its stored
    /// documents as raw bytes
    Join,
    /// Search in 10,000 chats of 100 messages, 250 chats for each round: pages of 20 hits, the delay of the index behind
    /// appends under load, and its size
    Search,
}

impl Scenario {
    /// Returns its name on the command line and in reports.
    pub(crate) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Runs it; returns its results.
    pub(crate) async fn run(self, stage: &Stage) -> Result<Findings> {
        let comparisons = match self {
            Self::Append => append::run(stage).await,
            Self::AppendGrowth => append_growth::run(stage).await,
            Self::AppendHot => append_hot::run(stage).await,
            Self::AppendMany => append_many::run(stage).await,
            Self::AppendMembers => append_members::run(stage).await,
            Self::AppendIndexes => append_indexes::run(stage).await,
            Self::AppendInTurn => append_in_turn::run(stage).await,
            Self::AppendBatch => append_batch::run(stage).await,
            Self::Resume => resume::run(stage).await,
            Self::ResumePlan => resume_plan::run(stage).await,
            Self::Turn => turn::run(stage).await,
            Self::Tail => tail::run(stage).await,
            Self::List => list::run(stage).await,
            Self::ListsMillion => return lists_million::run(stage).await,
            Self::Purge => return purge::run(stage).await,
            Self::HttpAppend => http_append::run(stage).await,
            Self::HttpResume => http_resume::run(stage).await,
            Self::CallsHot => calls_hot::run(stage).await,
            Self::Stats => stats::run(stage).await,
            Self::LiveLatency => return live_latency::run(stage).await,
            Self::LiveFanout => return live_fanout::run(stage).await,
            Self::LiveProcesses => return live_processes::run(stage).await,
            Self::Streams => return streams::run(stage).await,
            Self::Join => join::run(stage).await,
            Self::Search => return search::run(stage).await,
        };
        Ok(comparisons?.into())
    }
}
