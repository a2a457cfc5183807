use std::ops::Range;

use persistence::{ChatCount, ChatFilter, ListCursor, Store};
use records::{ChatSession, Scope};

use crate::api::chat_sessions::list::refused;
use crate::problem::Problem;

/// How many chats are read at a time.
const READ_AT_ONCE: usize = 200;
/// The most chats that one request examines.
pub(super) const MAX_EXAMINED: usize = 10_000;

/// The chats at some positions of a list, as a list shows them.
pub(super) struct OffsetPage<T> {
    pub(super) chats: Vec<T>,
    /// The number of chats in the whole list.
    pub(super) total: usize,
    /// Whether there may be more.
    pub(super) is_at_least: bool,
}

impl<T> OffsetPage<T> {
    /// Finds the chats at these positions among those chats of a list that a condition admits, if there is one, and counts
    /// them all. Each is converted at once, because a chat may be much larger than what a list shows of it.
    pub(super) async fn find(
        store: &dyn Store,
        scope: &Scope,
        list: &ChatFilter,
        admits: Option<&(dyn Fn(&ChatSession) -> bool + Sync)>,
        positions: Range<usize>,
        show: impl Fn(ChatSession) -> T,
    ) -> Result<Self, Problem> {
        let mut found = Self { chats: Vec::new(), total: 0, is_at_least: false };
        let (mut examined, mut after): (usize, Option<ListCursor>) = (0, None);
        loop {
            let page = store.list_chats(scope, list, READ_AT_ONCE, after.as_ref()).await;
            let page = page.map_err(refused)?;
            examined += page.chats.len();
            let is_admitted = |chat: &ChatSession| admits.is_none_or(|admits| admits(chat));
            for chat in page.chats.into_iter().filter(is_admitted) {
                if positions.contains(&found.total) {
                    found.chats.push(show(chat));
                }
                found.total += 1;
            }
            after = page.next;
            if after.is_none() {
                return Ok(found);
            }
            if found.total >= positions.end && admits.is_none() {
                break;
            }
            if examined >= MAX_EXAMINED {
                found.is_at_least = true;
                return Ok(found);
            }
        }
        (found.total, found.is_at_least) =
            match store.count_chats(scope, list).await.map_err(refused)? {
                ChatCount::Exactly(count) => (count, false),
                ChatCount::AtLeast(count) => (count, true),
            };
        Ok(found)
    }
}
