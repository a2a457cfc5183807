use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{AppId, ChatId, Scope};

use crate::StoreError;
use crate::integrity::MessageProof;
use crate::store::{CatchUp, Store};

/// Commits to messages, and proves that they are what was committed to (decision 0075).
///
/// Without a key nothing is signed, and every message is [`Unsigned`](crate::Verdict::Unsigned). The store in memory has no
/// database that could be changed behind its back, and signs nothing.
#[async_trait]
pub trait Integrity: Send + Sync {
    /// Compares a message with the newest commitment to it, and returns what leads from there to the signed root.
    async fn prove_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<MessageProof, StoreError>;

    /// Goes through the chats of an app that have changed since a time, or through all, at most `limit`, commits to their new and
    /// their changed messages, and signs. Returns what was done and where to continue, `None` at the end. For the process itself;
    /// takes no scope.
    ///
    /// Safe to repeat, to break off, and to run in several processes at once.
    async fn sign_chats(
        &self,
        app_id: &AppId,
        since: Option<DateTime<Utc>>,
        after: Option<&CatchUp>,
        limit: usize,
    ) -> Result<(SigningPass, Option<CatchUp>), StoreError>;
}

/// What a pass has signed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SigningPass {
    /// The chats with something new.
    pub chats: u64,
    /// The commitments that were added.
    pub commitments: u64,
    /// The chats in which something was changed without a service. Each is in the log.
    pub broken: u64,
}

impl SigningPass {
    fn add(&mut self, other: Self) {
        self.chats += other.chats;
        self.commitments += other.commitments;
        self.broken += other.broken;
    }
}

/// How many chats are signed in one call.
const CHATS: usize = 32;

/// Signs the chats of all apps that have changed since a time, or all chats.
pub async fn sign_all(
    store: &dyn Store,
    since: Option<DateTime<Utc>>,
) -> Result<SigningPass, StoreError> {
    let (mut pass, mut app_id) = (SigningPass::default(), None);
    while let Some(next) = store.next_app_with_chats(app_id.as_ref()).await? {
        let mut after = None;
        loop {
            let (signed, position) = store.sign_chats(&next, since, after.as_ref(), CHATS).await?;
            pass.add(signed);
            after = position;
            if after.is_none() {
                break;
            }
        }
        app_id = Some(next);
    }
    Ok(pass)
}
