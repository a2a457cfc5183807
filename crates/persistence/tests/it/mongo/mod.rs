//! What only the MongoDB store has: segments, blobs, indexes, versions, lost acknowledgements.

mod acknowledgements;
mod calls;
mod cancelled;
mod changes;
mod contract;
pub(crate) mod database;
mod edits;
mod faults;
mod forks;
mod formats;
mod groups;
mod growth;
mod large_groups;
mod lists;
mod lost_replies;
mod many_chats;
mod metrics;
mod plans;
mod presence;
mod reading;
mod repeats;
mod resume_points;
mod sealing;
mod stats;
mod sweeps;
mod versions;
mod wallets;
