//! What is told beside the messages of a chat. Of each only the last state counts.

use std::time::Duration;

use persistence::StoreError;
use tokio::time::{sleep, timeout};

use super::event::Event;
use super::feed::{Feed, PAUSES};

/// How often who is present is read at most.
const PRESENCE_PERIOD: Duration = Duration::from_millis(250);

/// How often what was used is read at most.
const USAGE_PERIOD: Duration = Duration::from_secs(1);

/// For how long nothing has to be said for it to be read again, where nothing can run out.
const QUIET: Duration = Duration::from_hours(1);

/// The states, as they are told; `None` until they are known.
#[derive(Debug, Clone, Default)]
pub(super) struct Aside {
    presence: Option<Event>,
    usage: Option<Event>,
}

impl Aside {
    /// Takes over who is present; tells whether that is another state.
    pub(super) fn set_presence(&mut self, event: Event) -> bool {
        replace(&mut self.presence, event)
    }

    /// Takes over what was used; tells whether that is another state.
    pub(super) fn set_usage(&mut self, event: Event) -> bool {
        replace(&mut self.usage, event)
    }

    /// Returns what is another state than was told.
    pub(super) fn since(&self, told: &Self) -> impl Iterator<Item = Event> {
        let states = [(&self.presence, &told.presence), (&self.usage, &told.usage)];
        let is_new = |(state, told): &(&Option<Event>, &Option<Event>)| state != told;
        states.into_iter().filter(is_new).filter_map(|(state, _)| state.clone())
    }
}

fn replace(state: &mut Option<Event>, event: Event) -> bool {
    let is_new = state.as_ref() != Some(&event);
    if is_new {
        *state = Some(event);
    }
    is_new
}

impl Feed {
    /// Reads who is present: at first, whenever somebody comes or goes, and when an announcement may
    /// have run out.
    pub(super) async fn follow_presence(&self) {
        let mut pause = PAUSES.0;
        loop {
            match self.read_presence().await {
                Ok(lasting) => {
                    pause = PAUSES.0;
                    sleep(PRESENCE_PERIOD).await;
                    let moved = self.presence_moved.notified();
                    // That it is over is as good a reason to read as that somebody says so.
                    let _ = timeout(lasting.unwrap_or(QUIET), moved).await;
                }
                Err(error) => {
                    tracing::debug!(%error, chat_id = %self.chat_id, "could not read who is present");
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
        }
    }

    async fn read_presence(&self) -> Result<Option<Duration>, StoreError> {
        let presence = self.store.presence(&self.scope, &self.chat_id).await?;
        let lasting = presence.lasting;
        let event = Event::presence(&self.chat_id, presence);
        self.window.send_if_modified(|window| window.aside_mut().set_presence(event));
        Ok(lasting)
    }

    /// Reads what the calls of the chat took: at first, and whenever some were recorded or deleted.
    pub(super) async fn follow_usage(&self) {
        let mut pause = PAUSES.0;
        loop {
            match self.read_usage().await {
                Ok(()) => {
                    pause = PAUSES.0;
                    sleep(USAGE_PERIOD).await;
                    self.usage_moved.notified().await;
                }
                Err(error) => {
                    tracing::debug!(%error, chat_id = %self.chat_id, "could not read what was used");
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
        }
    }

    async fn read_usage(&self) -> Result<(), StoreError> {
        let usage = self.store.chat_usage(&self.scope, &self.chat_id).await?;
        self.window.send_if_modified(|window| {
            let aside = window.aside_mut();
            // That nothing was used is what everybody takes for granted.
            (usage.calls > 0 || aside.usage.is_some()) && aside.set_usage(Event::usage(usage))
        });
        Ok(())
    }
}
