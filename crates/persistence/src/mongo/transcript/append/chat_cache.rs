//! The chat cache: what this process remembers of the chats to which it appends.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use records::{Caller, ChatId, Scope};

use crate::mongo::documents::Tail;

/// Remembers chats, so that appends need fewer reads. All of it is a hint: the filter of an append
/// matches only if the hint is still true, and a forgotten chat costs a read, nothing else.
///
/// For each chat it holds the event ids of all messages below some sequence, as hashes. The filter of an
/// append sees the ids in the tail, and requires that the tail begins at or below that sequence. So no
/// id is missed, whatever other processes append or seal.
///
/// It also holds the tail after the last append, so that the next append can state the counter it
/// expects.
///
/// The memory for all chats is bounded; the least recently used chats are evicted first. Each chat has
/// its own lock, and no append waits for the eviction of another chat.
#[derive(Debug)]
pub(crate) struct ChatCache {
    hasher: RandomState,
    chats: Cache<ChatId, Arc<Mutex<CachedChat>>>,
}

#[derive(Debug, Default)]
struct CachedChat {
    /// Where the tail began after the last append.
    first_sequence: u64,
    /// `ids` has the hashes of the ids of all messages below this sequence.
    below: u64,
    ids: HashSet<u64>,
    /// The number of misses since the ids of the sealed messages were last read.
    misses: u64,
    last_append: Option<LastAppend>,
}

/// The last append of this process to a chat.
#[derive(Debug)]
struct LastAppend {
    scope: Scope,
    /// The tail after it.
    tail: Tail,
    /// No other process had appended since the append before it.
    follows_ours: bool,
    /// The tail was not cut since then.
    is_whole: bool,
}

/// What is remembered of a chat about some ids.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct IdLookup {
    /// The ids of all messages below this sequence are remembered.
    pub(crate) below: u64,
    /// One of the ids may be among them; `false` is certain, `true` may be a collision of hashes.
    pub(crate) may_hold: bool,
    /// Where the tail began after the last append of this process, or 0 if that is not known.
    ///
    /// If the tail was sealed since, an append that relies on this sequence matches nothing, and reads the
    /// session.
    pub(crate) first_sequence: u64,
}

impl Default for ChatCache {
    fn default() -> Self {
        let chats = Cache::builder()
            .max_capacity(Self::MAX_BYTES)
            .weigher(|chat_id: &ChatId, held: &Arc<Mutex<CachedChat>>| {
                let bytes = Self::ENTRY_BYTES + chat_id.as_str().len() + lock(held).bytes();
                u32::try_from(bytes).unwrap_or(u32::MAX)
            })
            // The default policy prefers frequent keys, but a new chat is as likely to continue as any.
            .eviction_policy(EvictionPolicy::lru())
            .build();
        Self { hasher: RandomState::new(), chats }
    }
}

impl ChatCache {
    /// The most memory for all chats, in bytes.
    const MAX_BYTES: u64 = 32 << 20;

    /// The memory for an entry besides its content, in the cache and on the heap, in bytes: an upper estimate.
    const ENTRY_BYTES: usize = 512;

    /// From this number of sealed messages on, their ids are not read: they take 18 MiB.
    const MAX_IDS: u64 = 1 << 20;

    /// The ids of a chat with at most this many sealed messages are read at the first miss.
    const EAGER_READ_LIMIT: u64 = 4_096;

    /// The ids of a longer chat are read after one miss for every this many sealed messages.
    const MESSAGES_PER_MISS: u64 = 64;

    /// Looks up ids.
    pub(crate) fn recall(&self, chat_id: &ChatId, ids: &[&str]) -> IdLookup {
        let Some(held) = self.chats.get(chat_id) else {
            return IdLookup::default();
        };
        let held = lock(&held);
        let may_hold = ids.iter().any(|id| held.ids.contains(&self.hasher.hash_one(id)));
        IdLookup { below: held.below, may_hold, first_sequence: held.first_sequence }
    }

    /// Adds the ids of messages from a sequence on, unless that leaves a gap.
    pub(crate) fn learn<'a>(
        &self,
        chat_id: &ChatId,
        first_sequence: u64,
        ids: impl Iterator<Item = &'a str>,
    ) {
        self.change(chat_id, |held| {
            if first_sequence > held.below {
                return;
            }
            for (sequence, id) in (first_sequence..).zip(ids) {
                if sequence == held.below {
                    held.below += 1;
                    held.ids.insert(self.hasher.hash_one(id));
                }
            }
        });
    }

    /// Records a miss: a chat has more sealed messages than are remembered. Returns whether reading all of
    /// their ids is worth its cost.
    pub(crate) fn is_worth_reading(&self, chat_id: &ChatId, sealed_below: u64) -> bool {
        self.change(chat_id, |held| {
            held.misses += 1;
            let is_worth = sealed_below <= Self::EAGER_READ_LIMIT
                || held.misses * Self::MESSAGES_PER_MISS >= sealed_below;
            if is_worth {
                held.misses = 0;
            }
            is_worth && sealed_below < Self::MAX_IDS
        })
    }

    /// Returns the tail of a chat to which, as far as this process knows, no other process appends.
    ///
    /// Only the scope of the last append gets it. A caller that may not write to the chat would send an
    /// update that cannot match, and the tail would be forgotten for the others.
    pub(crate) fn tail(&self, scope: &Scope, chat_id: &ChatId) -> Option<Tail> {
        let held = self.chats.get(chat_id)?;
        let held = lock(&held);
        let last = held.last_append.as_ref()?;
        let is_known = last.follows_ours && last.is_whole && last.scope.has_same_rights(scope);
        is_known.then_some(last.tail)
    }

    /// Records the tail after an append, which gave its messages the sequences from `first_sequence` on.
    pub(crate) fn appended(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        first_sequence: u64,
        tail: &Tail,
    ) {
        self.change(chat_id, |held| {
            held.first_sequence = held.first_sequence.max(tail.first_sequence);
            let last = &mut held.last_append;
            let before = last.as_ref().map_or(0, |last| last.tail.last_sequence);
            let follows_ours = before == first_sequence;
            let scope = scope.without_origin();
            *last = Some(LastAppend { scope, tail: *tail, follows_ours, is_whole: true });
        });
    }

    /// Forgets the tail of a chat, because it may not be the expected one.
    pub(crate) fn forget_tail(&self, chat_id: &ChatId) {
        if let Some(held) = self.chats.get(chat_id) {
            lock(&held).last_append = None;
        }
    }

    /// Records that the tail of a chat was cut.
    pub(crate) fn tail_was_cut(&self, chat_id: &ChatId) {
        if let Some(held) = self.chats.get(chat_id)
            && let Some(last) = &mut lock(&held).last_append
        {
            last.is_whole = false;
        }
    }

    /// Changes what is remembered of a chat.
    ///
    /// The cache weighs an entry only when it is inserted, so an entry whose size has changed is inserted
    /// again. Ids change the size only when their table grows.
    fn change<T>(&self, chat_id: &ChatId, change: impl FnOnce(&mut CachedChat) -> T) -> T {
        let known = self.chats.get(chat_id);
        let is_new = known.is_none();
        let entry = known.unwrap_or_default();
        let (answer, is_weighed) = {
            let mut held = lock(&entry);
            let before = held.bytes();
            let answer = change(&mut held);
            (answer, held.bytes() == before)
        };
        if is_new || !is_weighed {
            self.chats.insert(chat_id.clone(), entry);
        }
        answer
    }
}

impl CachedChat {
    /// Returns the memory on the heap, in bytes.
    fn bytes(&self) -> usize {
        // A table fills at most seven eighths of its slots, and has a control byte for each slot.
        let ids = self.ids.capacity() * 8 / 7 * (size_of::<u64>() + 1);
        let texts = self.last_append.as_ref().map_or(0, |last| {
            let Scope { app_id, caller, .. } = &last.scope;
            let caller = match caller {
                Caller::Service => 0,
                Caller::Support { user_id } => user_id.as_str().len(),
                Caller::User { user_id, team_id, may_run: _ } => {
                    let team = team_id.as_ref().map_or(0, |team_id| team_id.as_str().len());
                    user_id.as_str().len() + team
                }
            };
            app_id.as_str().len() + caller
        });
        size_of::<Self>() + ids + texts
    }
}

fn lock(held: &Mutex<CachedChat>) -> MutexGuard<'_, CachedChat> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use records::{AppId, ChatStatus, TeamId, UserId};

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
    fn a_gap_in_sequences_is_not_learned() {
        let ids = ChatCache::default();
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
    fn the_most_recently_used_chats_are_kept() {
        let known = ChatCache::default();
        let (first, ids) =
            (chat("chat_first"), (0..4_000).map(|n| n.to_string()).collect::<Vec<_>>());
        known.learn(&first, 0, ids.iter().map(String::as_str));
        for number in 0..1_000 {
            let other = chat(&format!("chat_{number}"));
            known.learn(&other, 0, ids.iter().map(String::as_str));
            assert_eq!(known.recall(&first, &[]).below, 4_000);
        }
        known.chats.run_pending_tasks();
        assert_eq!(known.recall(&chat("chat_0"), &[]).below, 0, "it was used least recently");
        assert_eq!(known.recall(&chat("chat_999"), &[]).below, 4_000);
    }

    /// Long names, and chats without any id, take memory, too.
    #[test]
    fn what_is_remembered_of_many_chats_takes_bounded_memory() {
        const BOUND: usize = 32 << 20;
        let known = ChatCache::default();
        let name = |prefix: &str, number: usize| format!("{prefix}{number:0>100}");
        let of = |number| {
            let caller = Caller::User {
                user_id: UserId::parse(name("u", number)).unwrap(),
                team_id: Some(TeamId::parse(name("t", number)).unwrap()),
                may_run: false,
            };
            (Scope { caller, ..scope("acme_corp") }, chat(&name("c", number)))
        };
        let takes = 3 * name("c", 0).len() + size_of::<LastAppend>();
        let chats = BOUND / takes * 3 / 2;
        for number in 0..chats {
            let (scope, chat_id) = of(number);
            known.appended(&scope, &chat_id, 0, &tail(1));
        }
        let remembered = (0..chats).filter(|number| {
            let (scope, chat_id) = of(*number);
            known.tail(&scope, &chat_id).is_some()
        });
        let remembered = remembered.count();
        assert!(remembered * takes <= BOUND, "{remembered} chats of {takes} bytes are remembered");
        assert!(remembered > 1_000, "only {remembered} chats are remembered");
    }

    #[test]
    fn a_tail_is_expected_while_no_other_process_appends_or_seals() {
        let known = ChatCache::default();
        let (chat, ours) = (chat("chat_a"), scope("app_a"));
        let append = |first, last| {
            known.appended(&ours, &chat, first, &tail(last));
            known.tail(&ours, &chat).map(|tail| tail.last_sequence)
        };
        assert_eq!(append(3, 4), None, "another process has appended before");
        assert_eq!(append(4, 6), Some(6));
        assert!(known.tail(&scope("app_b"), &chat).is_none());
        known.tail_was_cut(&chat);
        assert!(known.tail(&ours, &chat).is_none());
        assert_eq!(append(6, 7), Some(7));
        assert_eq!(append(8, 9), None, "another process has appended");
        assert_eq!(append(9, 10), Some(10));
        known.forget_tail(&chat);
        assert!(known.tail(&ours, &chat).is_none());
        assert_eq!(append(10, 11), None);
    }

    #[test]
    fn the_first_sequence_outlives_the_tail() {
        let known = ChatCache::default();
        let chat = chat("chat_a");
        assert_eq!(known.recall(&chat, &[]).first_sequence, 0);
        let sealed = Tail { first_sequence: 7, ..tail(9) };
        known.appended(&scope("app_a"), &chat, 8, &sealed);
        known.forget_tail(&chat);
        assert_eq!(known.recall(&chat, &[]).first_sequence, 7);
    }

    #[test]
    fn a_long_chat_is_read_once_it_was_missed_often() {
        let ids = ChatCache::default();
        assert!(ids.is_worth_reading(&chat("chat_short"), 4_000));
        let long = chat("chat_long");
        let misses = (1..2_000).take_while(|_| !ids.is_worth_reading(&long, 64_000)).count();
        assert_eq!(misses, 999);
    }
}
