//! What the clients of a trial did and saw, and the final state.
//!
//! A history is a folder of files with one JSON record on each line: one file for each client, so
//! that no client waits for another, one for the faults, and one for the final state.

mod append;
mod document;
mod listen;
mod moment;
mod operation;
mod outcome;
mod read;
mod recorder;
mod state;

pub use append::{Answer, Append, Placed, Sent};
pub use document::{DocumentWrite, Writing};
pub use listen::{Listen, Told};
pub use moment::{Clock, Moment};
pub use operation::{HealthProbe, NemesisRecord, Operation, Record};
pub use outcome::{Outcome, Refusal};
pub use read::{Listed, Page, Read, Replay};
pub use recorder::{Archive, Recorder};
pub use state::{ChatState, Counter, FinalState, State, StoredMessage};

/// The input of the checker.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The operations, in the order of their beginning.
    pub records: Vec<Record>,
    /// The final state, after everything was healed.
    pub final_state: FinalState,
}
