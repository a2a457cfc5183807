use super::event::Event;

/// The latest events about states of a chat that have no sequence: who is present, and what its calls
/// used.
///
/// Only the latest state counts, so one event of each kind is kept and a subscriber that lags skips those
/// in between. `None` means that the state has not been read yet.
#[derive(Debug, Clone, Default)]
pub(super) struct StateEvents {
    presence: Option<Event>,
    usage: Option<Event>,
}

impl StateEvents {
    /// Sets who is present; tells whether that changed anything.
    pub(super) fn set_presence(&mut self, event: Event) -> bool {
        replace(&mut self.presence, event)
    }

    /// Sets what the calls of the chat used; tells whether that changed anything.
    pub(super) fn set_usage(&mut self, event: Event) -> bool {
        replace(&mut self.usage, event)
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
        let states = [(&self.presence, &sent.presence), (&self.usage, &sent.usage)];
        let changed = states.map(|(state, sent)| state.clone().filter(|_| state != sent));
        changed.into_iter().flatten()
    }
}

fn replace(state: &mut Option<Event>, event: Event) -> bool {
    let has_changed = state.as_ref() != Some(&event);
    if has_changed {
        *state = Some(event);
    }
    has_changed
}
