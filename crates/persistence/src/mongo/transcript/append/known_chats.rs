//! What this process remembers of the chats it appends to.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use records::{ChatId, Scope};

use crate::mongo::documents::Tail;

/// Remembers chats, so that appends need not look for what is known. All of it is a hint: the
/// append's own filter holds only if it is still true, and forgetting costs a look, nothing else.
///
/// For each chat every event id below some sequence, as hashes. The append's filter sees the ids in
/// the tail, and holds only if the tail begins at or below that sequence; so between the two no
/// id is missed, whatever other processes append or seal.
///
/// And the tail that the last append left, so that the next one can say what it expects.
#[derive(Debug, Default)]
pub(crate) struct KnownChats {
    hasher: RandomState,
    chats: Mutex<Chats>,
}

#[derive(Debug, Default)]
struct Chats {
    held: HashMap<ChatId, Held>,
    /// How many ids are held altogether.
    ids: usize,
    /// Counts the uses, to tell which chat was not used for longest.
    uses: u64,
}

#[derive(Debug, Default)]
struct Held {
    below: u64,
    ids: HashSet<u64>,
    last_use: u64,
    misses: u64,
    last_append: Option<LastAppend>,
}

/// The last append of this process to a chat.
#[derive(Debug)]
struct LastAppend {
    scope: Scope,
    /// What it left.
    tail: Tail,
    /// Nobody had appended since the one before it.
    follows_ours: bool,
    /// It was not cut since then.
    is_whole: bool,
}

/// What is remembered of a chat, for certain ids.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recall {
    /// The ids of all messages below this sequence are remembered.
    pub(crate) below: u64,
    /// One of the ids asked for may be among them; `false` is certain.
    pub(crate) may_hold: bool,
}

impl KnownChats {
    /// About 20 MB.
    const CAPACITY: usize = 1 << 20;

    /// A chat with so few sealed messages is read at once when it is first met.
    const FEW: u64 = 4_096;

    /// A longer one is read after so many misses that reading it costs little for each.
    const MESSAGES_PER_MISS: u64 = 64;

    /// Looks for ids.
    pub(crate) fn recall(&self, chat_id: &ChatId, ids: &[&str]) -> Recall {
        let mut chats = self.chats();
        let Some(held) = chats.touch(chat_id) else {
            return Recall { below: 0, may_hold: false };
        };
        let may_hold = ids.iter().any(|id| held.ids.contains(&self.hasher.hash_one(id)));
        Recall { below: held.below, may_hold }
    }

    /// Adds the ids of messages from a sequence on, so far as that leaves no gap.
    pub(crate) fn learn<'a>(
        &self,
        chat_id: &ChatId,
        first_sequence: u64,
        ids: impl Iterator<Item = &'a str>,
    ) {
        let mut chats = self.chats();
        let mut added = 0;
        let held = chats.open(chat_id);
        if first_sequence > held.below {
            return;
        }
        for (sequence, id) in (first_sequence..).zip(ids) {
            if sequence == held.below {
                held.below += 1;
                added += usize::from(held.ids.insert(self.hasher.hash_one(id)));
            }
        }
        chats.ids += added;
        chats.forget_beyond(Self::CAPACITY);
    }

    /// Notes that a chat has more sealed messages than are remembered; tells whether reading all
    /// of their ids is worth it.
    pub(crate) fn is_worth_reading(&self, chat_id: &ChatId, sealed_below: u64) -> bool {
        let mut chats = self.chats();
        let held = chats.open(chat_id);
        held.misses += 1;
        let is_worth =
            sealed_below <= Self::FEW || held.misses * Self::MESSAGES_PER_MISS >= sealed_below;
        if is_worth {
            held.misses = 0;
        }
        is_worth && sealed_below < Self::CAPACITY as u64
    }

    /// Returns the tail of a chat to which, as far as this process knows, nobody else appends.
    ///
    /// Only to those who have appended before: whom the chat is closed to must not be able to make
    /// others expect what is not so.
    pub(crate) fn tail(&self, scope: &Scope, chat_id: &ChatId) -> Option<Tail> {
        let mut chats = self.chats();
        let last = chats.touch(chat_id)?.last_append.as_ref()?;
        let is_known = last.follows_ours && last.is_whole && last.scope == *scope;
        is_known.then_some(last.tail)
    }

    /// Notes the tail that an append has left, which gave its messages the sequences from
    /// `first_sequence` on.
    pub(crate) fn appended(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        first_sequence: u64,
        tail: &Tail,
    ) {
        let mut chats = self.chats();
        let last = &mut chats.open(chat_id).last_append;
        let before = last.as_ref().map_or(0, |last| last.tail.last_sequence);
        let follows_ours = before == first_sequence;
        let scope = scope.clone();
        *last = Some(LastAppend { scope, tail: *tail, follows_ours, is_whole: true });
    }

    /// Forgets the tail of a chat, which is not what it was expected to be.
    pub(crate) fn forget_tail(&self, chat_id: &ChatId) {
        if let Some(held) = self.chats().held.get_mut(chat_id) {
            held.last_append = None;
        }
    }

    /// Notes that the tail of a chat was cut.
    pub(crate) fn tail_was_cut(&self, chat_id: &ChatId) {
        let mut chats = self.chats();
        let last = chats.held.get_mut(chat_id).and_then(|held| held.last_append.as_mut());
        if let Some(last) = last {
            last.is_whole = false;
        }
    }

    fn chats(&self) -> MutexGuard<'_, Chats> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Chats {
    fn touch(&mut self, chat_id: &ChatId) -> Option<&mut Held> {
        self.uses += 1;
        let held = self.held.get_mut(chat_id)?;
        held.last_use = self.uses;
        Some(held)
    }

    fn open(&mut self, chat_id: &ChatId) -> &mut Held {
        self.uses += 1;
        let held = self.held.entry(chat_id.clone()).or_default();
        held.last_use = self.uses;
        held
    }

    /// Forgets the chats that were not used for longest, half of them at a time.
    ///
    /// Each chat counts as one id more than it has, so that their number is bounded too.
    fn forget_beyond(&mut self, capacity: usize) {
        if self.ids + self.held.len() <= capacity {
            return;
        }
        let mut uses: Vec<u64> = self.held.values().map(|held| held.last_use).collect();
        uses.sort_unstable();
        let middle = uses[uses.len() / 2];
        self.held.retain(|_, held| held.last_use > middle);
        self.ids = self.held.values().map(|held| held.ids.len()).sum();
    }
}

#[cfg(test)]
mod tests {
    use records::{AppId, ChatStatus};

    use super::*;

    fn chat(id: &str) -> ChatId {
        ChatId::parse(id).unwrap()
    }

    fn scope(app: &str) -> Scope {
        Scope::service(AppId::parse(app).unwrap())
    }

    fn tail(last_sequence: u64) -> Tail {
        let status = ChatStatus::Running;
        Tail {
            last_sequence,
            first_sequence: 0,
            revision: 0,
            bytes: 0,
            status,
            fencing_token: None,
            turns: 0,
            turns_without_messages: 0,
        }
    }

    #[test]
    fn a_gap_is_not_learnt_over() {
        let ids = KnownChats::default();
        let chat = chat("chat_a");
        ids.learn(&chat, 0, ["a", "b"].into_iter());
        ids.learn(&chat, 3, ["d"].into_iter());
        let recall = ids.recall(&chat, &["d"]);
        assert_eq!((recall.below, recall.may_hold), (2, false));
        ids.learn(&chat, 1, ["b", "c", "d"].into_iter());
        let recall = ids.recall(&chat, &["x", "d"]);
        assert_eq!((recall.below, recall.may_hold), (4, true));
        assert!(!ids.recall(&chat, &["x"]).may_hold);
    }

    #[test]
    fn the_chats_used_last_are_kept() {
        let mut chats = Chats::default();
        for name in ["chat_a", "chat_b", "chat_c", "chat_d"] {
            chats.open(&chat(name)).ids.insert(1);
            chats.ids += 1;
        }
        chats.touch(&chat("chat_a"));
        chats.forget_beyond(7);
        let mut kept: Vec<_> = chats.held.keys().map(|id| id.as_str().to_owned()).collect();
        kept.sort();
        assert_eq!((kept.as_slice(), chats.ids), (["chat_a".to_owned()].as_slice(), 1));
    }

    #[test]
    fn a_tail_is_expected_while_nobody_else_appends_or_cuts() {
        let known = KnownChats::default();
        let (chat, ours) = (chat("chat_a"), scope("app_a"));
        let append = |first, last| {
            known.appended(&ours, &chat, first, &tail(last));
            known.tail(&ours, &chat).map(|tail| tail.last_sequence)
        };
        assert_eq!(append(3, 4), None, "what was there before is somebody else's");
        assert_eq!(append(4, 6), Some(6));
        assert!(known.tail(&scope("app_b"), &chat).is_none());
        known.tail_was_cut(&chat);
        assert!(known.tail(&ours, &chat).is_none());
        assert_eq!(append(6, 7), Some(7));
        assert_eq!(append(8, 9), None, "somebody else has appended");
        assert_eq!(append(9, 10), Some(10));
        known.forget_tail(&chat);
        assert!(known.tail(&ours, &chat).is_none());
        assert_eq!(append(10, 11), None);
    }

    #[test]
    fn a_long_chat_is_read_once_it_was_missed_often() {
        let ids = KnownChats::default();
        assert!(ids.is_worth_reading(&chat("chat_short"), 4_000));
        let long = chat("chat_long");
        let misses = (1..2_000).take_while(|_| !ids.is_worth_reading(&long, 64_000)).count();
        assert_eq!(misses, 999);
    }
}
