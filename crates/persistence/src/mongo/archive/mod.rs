//! Archives: the documents of an app or of a chat as lines of JSON, and back.
//!
//! Documents rather than records, so that nothing that is stored is lost and nothing is numbered or dated anew (decision 0061).
//! What an archive takes of each collection is in the registry of collections.

mod encoding;
mod reservation;
mod restore;
mod save;

pub(crate) use reservation::{is_reservation, reservations_of};
pub use restore::{HeldSegments, RestoreError, RestoreInto, Restored};
pub use save::{ArchiveError, ArchivedDocument};

use std::fmt;

use crate::mongo::collections::{COLLECTIONS, StoredCollection};

/// What an archive takes of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Archive {
    /// The documents of a chat: their `_id` begins with it.
    OfChat,
    /// The document of a chat: its `_id` is the chat.
    OneOfChat,
    /// The rollup of a chat. The sums of them are added up again in the other database.
    RollupOfChat,
    /// The session of a chat. It comes last, so that a chat appears when all of it is there.
    Session,
    /// The document of the app.
    App,
    /// The wallets of the app.
    Wallets,
    /// The archived entries of the wallets of the app.
    WalletEntries,
    /// The assistants of the app.
    Assistants,
    /// The documents of the app, and their parts: those that are bound to a chat with the chat, the others with the app.
    Documents,
    /// Nothing, for this reason.
    LeavesOut(&'static str),
}

impl fmt::Display for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OfChat | Self::OneOfChat => "all of the chat",
            Self::RollupOfChat => "that of the chat; the sums are added up again",
            Self::Session => "that of the chat, last",
            Self::App => "that of the app",
            Self::Wallets | Self::WalletEntries | Self::Assistants => "all of the app",
            Self::Documents => "all of the app, and of the chat",
            Self::LeavesOut(reason) => return write!(f, "nothing: {reason}"),
        })
    }
}

/// Returns the collections of which an archive takes something in this way.
fn taken(archive: Archive) -> impl Iterator<Item = &'static StoredCollection> {
    COLLECTIONS.iter().filter(move |stored| stored.archive == archive)
}
