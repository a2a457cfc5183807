use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use records::ChatId;
use tokio::sync::Notify;

/// The chats whose changes a listener hears of when other processes make them.
///
/// Clones are the same list, and a listener may change it at any time.
#[derive(Debug, Clone)]
pub struct Interest(Option<Arc<Listed>>);

/// The lists of all listeners of a store.
#[derive(Debug, Default)]
pub(crate) struct Interests(Mutex<Vec<Weak<Listed>>>);

#[derive(Debug, Default)]
struct Listed {
    state: Mutex<State>,
    added: Notify,
}

#[derive(Debug, Default)]
struct State {
    chats: HashSet<ChatId>,
    /// Those of them that were added since [`Interest::chats`].
    added: HashSet<ChatId>,
}

impl Interest {
    /// How many chats are selected one by one. A listener with more hears of all.
    pub(crate) const MAX_SELECTED: usize = 2_000;

    /// All chats of all apps.
    #[must_use]
    pub fn in_all_chats() -> Self {
        Self(None)
    }

    /// The chats that are [added](Self::add); none at the beginning.
    #[must_use]
    pub fn in_listed_chats() -> Self {
        Self(Some(Arc::default()))
    }

    /// Adds a chat to the list.
    pub fn add(&self, chat_id: &ChatId) {
        let Some(listed) = &self.0 else { return };
        let mut state = listed.state();
        if state.chats.insert(chat_id.clone()) {
            state.added.insert(chat_id.clone());
            listed.added.notify_one();
        }
    }

    /// Removes a chat from the list. Its changes may be heard of for a while.
    pub fn remove(&self, chat_id: &ChatId) {
        let Some(listed) = &self.0 else { return };
        let mut state = listed.state();
        state.chats.remove(chat_id);
        state.added.remove(chat_id);
    }

    /// Returns the chats on the list; `None` for all chats.
    pub(crate) fn chats(&self) -> Option<HashSet<ChatId>> {
        let mut state = self.0.as_ref()?.state();
        state.added.clear();
        Some(state.chats.clone())
    }

    /// Waits until there is a chat on the list.
    pub(crate) async fn begins(&self) {
        let Some(listed) = &self.0 else { return };
        while listed.state().chats.is_empty() {
            listed.added.notified().await;
        }
    }

    /// Returns whether other chats should be selected than these.
    pub(crate) fn outgrows(&self, selected: Option<&HashSet<ChatId>>) -> bool {
        self.0.as_ref().is_some_and(|listed| listed.state().outgrows(selected))
    }
}

impl Interests {
    /// Adds the list of a listener, which may listen again and again.
    pub(crate) fn add(&self, interest: &Interest) {
        let Some(list) = interest.0.as_ref().map(Arc::downgrade) else { return };
        let mut lists = self.lists();
        lists.retain(|other| other.strong_count() > 0 && !other.ptr_eq(&list));
        lists.push(list);
    }

    /// Returns whether a chat is on any list.
    pub(crate) fn list(&self, chat_id: &ChatId) -> bool {
        let lists = self.lists();
        let mut lists = lists.iter().filter_map(Weak::upgrade);
        lists.any(|list| list.state().chats.contains(chat_id))
    }

    fn lists(&self) -> MutexGuard<'_, Vec<Weak<Listed>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// How many chats may be selected in vain, besides as many as are on the list.
    const SPARE: usize = 64;

    fn outgrows(&mut self, selected: Option<&HashSet<ChatId>>) -> bool {
        let listed = self.chats.len();
        let Some(selected) = selected else { return listed < Interest::MAX_SELECTED / 2 };
        self.added.retain(|chat_id| !selected.contains(chat_id));
        !self.added.is_empty() || selected.len() > 2 * listed + Self::SPARE
    }
}

impl Listed {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(number: usize) -> ChatId {
        ChatId::parse(format!("chat_{number}")).unwrap()
    }

    #[test]
    fn a_chat_that_is_not_selected_outgrows_the_selection() {
        let interest = Interest::in_listed_chats();
        interest.add(&chat(1));
        let selected = interest.chats().unwrap();
        assert!(!interest.outgrows(Some(&selected)));
        interest.add(&chat(2));
        assert!(interest.outgrows(Some(&selected)));
        interest.remove(&chat(2));
        assert!(!interest.outgrows(Some(&selected)));
    }

    #[test]
    fn a_selection_of_many_chats_that_are_gone_is_outgrown() {
        let interest = Interest::in_listed_chats();
        (0..100).for_each(|number| interest.add(&chat(number)));
        let selected = interest.chats().unwrap();
        (0..80).for_each(|number| interest.remove(&chat(number)));
        assert!(!interest.outgrows(Some(&selected)));
        (80..90).for_each(|number| interest.remove(&chat(number)));
        assert!(interest.outgrows(Some(&selected)));
    }

    #[test]
    fn a_list_is_known_once_and_as_long_as_it_is_there() {
        let (interests, interest) = (Interests::default(), Interest::in_listed_chats());
        interests.add(&interest);
        interests.add(&interest.clone());
        interest.add(&chat(1));
        assert!(interests.list(&chat(1)) && !interests.list(&chat(2)));
        assert_eq!(interests.lists().len(), 1);
        drop(interest);
        assert!(!interests.list(&chat(1)));
    }

    #[test]
    fn very_many_chats_are_not_selected_one_by_one() {
        let interest = Interest::in_listed_chats();
        (0..=Interest::MAX_SELECTED).for_each(|number| interest.add(&chat(number)));
        assert!(!interest.outgrows(None));
        (0..Interest::MAX_SELECTED).for_each(|number| interest.remove(&chat(number)));
        assert!(interest.outgrows(None));
        assert!(!Interest::in_all_chats().outgrows(None));
    }
}
