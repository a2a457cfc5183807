//! Reads messages with the chat whose documents hold them.

use std::ops::Range;

use records::{AppId, ChatId, Scope};

use super::signing::SignedChain;
use crate::integrity::{Commitment, IntegrityKeys, statement};
use crate::mongo::MongoStore;
use crate::mongo::documents::StoredMessage;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::read_at::ReadAt;
use crate::mongo::transcript::reader::{Direction, SessionView};
use crate::rules::stored_digest::random_salt;

/// How many bytes of messages are in memory at once.
const FETCHED_BYTES: u64 = 2 << 20;

/// A message, and the chat whose session, segment or version holds it: a fork shows messages of other chats.
pub(super) struct ShownMessage {
    pub(super) holder: ChatId,
    pub(super) stored: StoredMessage,
}

/// What a message is, compared with the newest commitment to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    /// It is what was committed to.
    Same,
    /// A service has changed it since.
    Changed,
    /// It differs, and no service has changed it.
    Broken,
}

/// Tells which messages that are not signed yet were appended by a service.
#[derive(Debug)]
pub(super) struct Appends {
    /// Every release that may still run tags what it appends.
    are_all_tagged: bool,
    /// The first message from which on every one has a tag. Those before it come from an earlier release, or from a service
    /// without a key.
    pub(super) tagged_from: Option<u64>,
    /// The messages that no service has appended.
    pub(super) forged: Vec<u64>,
}

impl Appends {
    /// Judges the next message. Returns whether a service may have appended it.
    pub(super) fn accept(
        &mut self,
        keys: &IntegrityKeys,
        app_id: &AppId,
        shown: &ShownMessage,
    ) -> bool {
        let is_tagged = shown.is_tagged(keys, app_id);
        match self.tagged_from {
            Some(_) if !is_tagged => {
                self.forged.push(shown.sequence());
                return false;
            }
            None if is_tagged && self.are_all_tagged && shown.changes() == 0 => {
                self.tagged_from = Some(shown.sequence());
            }
            _ => {}
        }
        true
    }
}

impl ShownMessage {
    pub(super) fn sequence(&self) -> u64 {
        self.stored.message.sequence
    }

    pub(super) fn changes(&self) -> u32 {
        self.stored.changes()
    }

    /// Commits to the message, with a salt of its own.
    pub(super) fn commit(&self) -> Result<Commitment, Failure> {
        let salt = random_salt()?;
        let statement = statement(&self.stored.message);
        Ok(Commitment::new(self.sequence(), self.changes(), salt, &statement))
    }

    pub(super) fn compare(
        &self,
        keys: &IntegrityKeys,
        (app_id, chat_id): (&AppId, &ChatId),
        commitment: &Commitment,
    ) -> Comparison {
        if commitment.is_of(&statement(&self.stored.message)) == Some(true) {
            return Comparison::Same;
        }
        let is_later = self.changes() > commitment.changes;
        // Without its salt, a commitment still tells how often the message had been changed, and the tag the rest, except for
        // the place of a message that was never changed. Such a salt only a service may have forgotten.
        let has_no_salt = commitment.is_forgotten(keys, (app_id, chat_id))
            || commitment.salt().is_none() && commitment.changes > 0;
        let is_as_late = has_no_salt && self.changes() == commitment.changes;
        match (is_later || is_as_late, self.is_tagged(keys, app_id)) {
            (true, true) if is_later => Comparison::Changed,
            (true, true) => Comparison::Same,
            _ => Comparison::Broken,
        }
    }

    fn is_tagged(&self, keys: &IntegrityKeys, app_id: &AppId) -> bool {
        self.stored.is_tagged(keys, app_id, &self.holder)
    }
}

impl MongoStore {
    /// Judges the messages that follow what was signed of a chat.
    pub(super) async fn appends_after(
        &self,
        signed: Option<&SignedChain>,
    ) -> Result<Appends, Failure> {
        let are_all_tagged = self.writes(Shape::MessageTags).await?;
        let tagged_from = signed.and_then(|signed| signed.checkpoint.tagged_from);
        Ok(Appends { are_all_tagged, tagged_from, forged: Vec::new() })
    }

    /// Reads the messages of a span, the oldest first, until `take` returns false.
    pub(super) async fn each_shown(
        &self,
        at: &mut ReadAt<'_>,
        app_id: &AppId,
        session: &SessionView<'_>,
        span: Range<u64>,
        mut take: impl FnMut(ShownMessage) -> Result<(), Failure> + Send,
    ) -> Result<(), Failure> {
        let scope = Scope::service(app_id.clone()).finding_deleted();
        let direction = Direction::OldestFirst;
        let mut sealed = session.sealed(&span, direction);
        while !sealed.is_done() {
            let fetched = self.fetch_sealed(at, &scope, &sealed, FETCHED_BYTES).await?;
            for message in sealed.advance(&fetched)? {
                let holder = message.overlay.map_or(&fetched.owner, |it| &it.key.chat_id).clone();
                take(ShownMessage { holder, stored: message.decode()? })?;
            }
        }
        for message in session.tail_messages(&span, direction)? {
            let holder = session.lineage.chat_id().clone();
            take(ShownMessage { holder, stored: message.decode()? })?;
        }
        Ok(())
    }
}
