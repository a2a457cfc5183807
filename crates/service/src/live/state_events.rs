use super::encoded::Encoded;
use super::event::Event;
use crate::wire::{PresenceResponse, UsageFields};

/// The latest states of a chat that have no sequence: who is present, and what its calls used.
///
/// Only the latest state counts, so one of each kind is kept and a subscriber that lags skips those in between.
/// `None` means that the state has not been read yet.
#[derive(Debug, Clone, Default)]
pub(super) struct StateEvents {
    presence: Option<Encoded<PresenceResponse>>,
    usage: Option<Encoded<UsageFields>>,
}

impl StateEvents {
    /// Sets who is present; tells whether that changed anything.
    pub(super) fn set_presence(&mut self, presence: Encoded<PresenceResponse>) -> bool {
        replace(&mut self.presence, presence)
    }

    /// Sets what the calls of the chat used; tells whether that changed anything.
    pub(super) fn set_usage(&mut self, usage: Encoded<UsageFields>) -> bool {
        replace(&mut self.usage, usage)
    }

    /// Tells whether any usage has been set.
    pub(super) fn has_usage(&self) -> bool {
        self.usage.is_some()
    }

    /// Returns the states without what the calls used, for a subscriber that may not see what the chat costs.
    pub(super) fn without_usage(&self) -> Self {
        Self { usage: None, ..self.clone() }
    }

    /// Returns the states that differ from those a subscriber was sent.
    pub(super) fn changed_since(&self, sent: &Self) -> impl Iterator<Item = Event> + use<> {
        let presence = self.presence.clone().filter(|_| self.presence != sent.presence);
        let usage = self.usage.clone().filter(|_| self.usage != sent.usage);
        presence.map(Event::Presence).into_iter().chain(usage.map(Event::Usage))
    }
}

fn replace<T>(state: &mut Option<Encoded<T>>, new: Encoded<T>) -> bool {
    let has_changed = state.as_ref() != Some(&new);
    if has_changed {
        *state = Some(new);
    }
    has_changed
}
