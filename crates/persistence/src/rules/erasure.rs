//! What is left of a message when a person is erased, shared by both stores (decision 0053).

use std::ops::{Range, RangeInclusive};

use chrono::{DateTime, Utc};
use records::{Erasure, Invalid, Message, Pseudonym, UserId};

use crate::rules::stored_digest::StoredDigest;

/// A person who is erased.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    pub(crate) user_id: UserId,
    /// The id that replaces the person's.
    pub(crate) alias: UserId,
    pub(crate) now: DateTime<Utc>,
}

/// Which messages of a chat lose their text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Those that the person wrote.
    Written,
    /// Those that are from a chat of the person, in it and in its forks.
    Own {
        /// The messages that the chat had beside those of its sources.
        span: Range<u64>,
        /// When messages of its sources were edited in the chat.
        edited: RangeInclusive<DateTime<Utc>>,
    },
}

impl Extent {
    /// Returns the sequence below which all these messages are.
    pub(crate) fn end(&self) -> u64 {
        match self {
            Self::Written => u64::MAX,
            Self::Own { span, .. } => span.end,
        }
    }
}

impl Person {
    pub(crate) fn new(
        user_id: UserId,
        pseudonym: Pseudonym,
        now: DateTime<Utc>,
    ) -> Result<Self, Invalid> {
        let alias = UserId::parse(format!("{}{pseudonym}", Erasure::PREFIX))
            .map_err(|error| Invalid::value("/user_id", error.to_string()))?;
        Ok(Self { user_id, alias, now })
    }

    /// Returns the id of the nth wallet of the pseudonym, from 1: the alias, and with the number from the second on.
    ///
    /// There are several if the person gets a new wallet while the erasure runs. Wallets are not merged: each has entry ids and
    /// sequences of its own.
    pub(crate) fn wallet_alias(&self, number: u32) -> Result<UserId, Invalid> {
        if number == 1 {
            return Ok(self.alias.clone());
        }
        UserId::parse(format!("{}_{number}", self.alias))
            .map_err(|error| Invalid::value("/user_id", error.to_string()))
    }

    /// Erases the person from a message. If its text goes, the message becomes like a deleted one, and its digest matches
    /// every repeat. Returns whether there was anything to erase.
    pub(crate) fn wipe(
        &self,
        message: &mut Message,
        digest: &mut StoredDigest,
        extent: &Extent,
    ) -> bool {
        let before = (message.clone(), *digest);
        let is_erased = match extent {
            Extent::Written => {
                message.author.as_ref().is_some_and(|author| author.user_id == self.user_id)
            }
            Extent::Own { span, edited } => {
                let is_edited = || message.edited_at.is_some_and(|at| edited.contains(&at));
                let is_own = message.sequence >= span.start || is_edited();
                if !is_own || message.sequence >= span.end {
                    return false;
                }
                true
            }
        };
        if is_erased {
            message.body = message.body.tombstone();
            message.body.name = None;
            message.deleted_at.get_or_insert(self.now);
            *digest = StoredDigest::ERASED;
            if let Some(author) = &mut message.author {
                author.display_name = None;
            }
        }
        let author = message.author.as_mut().map(|author| &mut author.user_id);
        let editors = [message.edited_by.as_mut(), message.deleted_by.as_mut()];
        for user_id in editors.into_iter().chain([author]).flatten() {
            if *user_id == self.user_id {
                *user_id = self.alias.clone();
            }
        }
        before != (message.clone(), *digest)
    }
}

/// Returns an erasure at its end: it names the person no more.
pub(crate) fn ended(erasure: &Erasure, now: DateTime<Utc>) -> Erasure {
    Erasure { user_id: None, finished_at: Some(now), ..erasure.clone() }
}

/// What the answer of an erased person has as its name.
pub(crate) const ERASED_NAME: &str = "erased";

#[cfg(test)]
mod tests {
    use records::{Author, DisplayName, EventId, MessageBody};

    use super::*;

    fn user(id: &str) -> UserId {
        UserId::parse(id).unwrap()
    }

    fn person() -> Person {
        let (alias, now) = (user("erased_1"), DateTime::UNIX_EPOCH);
        Person { user_id: user("ada"), alias, now }
    }

    fn message(author: &str) -> Message {
        Message {
            sequence: 0,
            event_id: EventId::parse("e").unwrap(),
            body: MessageBody::new("user", Some("Ada"), "secret"),
            author: Some(Author {
                user_id: user(author),
                display_name: DisplayName::parse("Ada").ok(),
            }),
            created_at: DateTime::UNIX_EPOCH,
            edited_at: None,
            edited_by: Some(user("ada")),
            deleted_at: None,
            deleted_by: Some(user("bob")),
            is_text_kept: false,
        }
    }

    fn wiped(author: &str, extent: &Extent) -> (Message, StoredDigest) {
        let (mut message, mut digest) =
            (message(author), StoredDigest::new([1; 16], Some([7; 16])));
        assert!(person().wipe(&mut message, &mut digest, extent));
        let (once, digest_once) = (message.clone(), digest);
        assert!(!person().wipe(&mut message, &mut digest, extent), "it is safe to repeat");
        assert_eq!((message, digest), (once.clone(), digest_once));
        (once, digest)
    }

    fn time(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    fn own(span: Range<u64>) -> Extent {
        Extent::Own { span, edited: time(10)..=time(20) }
    }

    #[test]
    fn of_what_a_chat_took_over_only_what_was_edited_there_goes() {
        let is_wiped = |sequence, edited_at, end| {
            let mut message = Message { sequence, edited_at, ..message("bob") };
            let mut digest = StoredDigest::ERASED;
            person().wipe(&mut message, &mut digest, &own(5..end))
        };
        assert!(is_wiped(5, None, 9));
        assert!(!is_wiped(4, None, 9));
        for (edited_at, is_from_there) in [(9, false), (10, true), (20, true), (21, false)] {
            assert_eq!(is_wiped(4, Some(time(edited_at)), 9), is_from_there, "{edited_at}");
            assert_eq!(is_wiped(1, Some(time(edited_at)), 2), is_from_there, "{edited_at}");
            assert!(!is_wiped(9, Some(time(edited_at)), 9));
        }
    }

    #[test]
    fn what_a_person_wrote_is_gone_and_a_repeat_of_it_is_a_duplicate() {
        let (message, digest) = wiped("ada", &Extent::Written);
        assert!(!format!("{message:?}").contains("secret"));
        assert!(!format!("{message:?}").to_lowercase().contains("\"ada"));
        assert_eq!(message.author.unwrap().user_id, user("erased_1"));
        assert_eq!(message.deleted_by, Some(user("bob")));
        assert!(digest.is_of(&[1; 16]) && digest.is_of(&[2; 16]));
    }

    #[test]
    fn what_others_wrote_stays_in_chats_of_others_and_goes_in_those_of_the_person() {
        let (message, digest) = wiped("bob", &Extent::Written);
        assert_eq!(message.body.content, "secret");
        assert_eq!(message.edited_by, Some(user("erased_1")));
        assert!(!digest.is_of(&[2; 16]));
        let (message, _) = wiped("bob", &own(0..1));
        assert!(!format!("{message:?}").contains("secret"));
        assert_eq!(message.author.unwrap().user_id, user("bob"));
    }
}
