use super::{CallError, Chat, Event, Events, Frames};

/// The transport of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Server-sent events.
    Events,
    /// WebSocket frames.
    Frames,
}

/// A subscription to a chat over either transport.
#[derive(Debug)]
pub enum Listening {
    /// Server-sent events.
    Events(Events),
    /// The frames of a WebSocket.
    Frames(Box<Frames>),
}

impl Listening {
    /// Subscribes to a chat of a workflow, from the beginning or after an event.
    pub async fn begin(
        chat: &Chat,
        workflow_name: &str,
        way: Way,
        after: Option<&str>,
    ) -> Result<Self, CallError> {
        Ok(match way {
            Way::Events => Self::Events(chat.events(after).await?),
            Way::Frames => Self::Frames(Box::new(chat.frames(workflow_name, after).await?)),
        })
    }

    /// Waits for the next event; `None` when the service ends it.
    pub async fn next(&mut self) -> Result<Option<Event>, CallError> {
        match self {
            Self::Events(events) => events.next().await,
            Self::Frames(frames) => frames.next().await,
        }
    }
}
