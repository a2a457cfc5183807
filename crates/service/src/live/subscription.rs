use std::collections::VecDeque;
use std::sync::Arc;

use async_stream::try_stream;
use futures::stream::{BoxStream, StreamExt as _, TryStreamExt as _};
use persistence::{ChatHead, StoreError};
use records::Message;
use tokio::sync::{Semaphore, watch};
use tokio::time::sleep;

use super::Position;
use super::aside::Aside;
use super::event::{Delivery, Event};
use super::feed::{Feed, PAUSES};
use super::hub::Seat;
use super::window::{Next, Window};

/// Somebody who listens to a chat: how far they are, and how to come by what follows.
pub(crate) struct Subscription {
    seat: Seat,
    window: watch::Receiver<Window>,
    /// Whose turn it is to read from the store.
    readers: Arc<Semaphore>,
    /// What they hold when they have taken what is ready.
    held: Position,
    /// What they are to take next.
    ready: VecDeque<Delivery>,
    /// Of what has no sequence, what they were told last; `None` until they have caught up.
    told: Option<ChatHead>,
    /// And of what is told beside the messages.
    told_aside: Aside,
    search: Option<Search>,
}

/// A search through the whole chat for messages that were edited.
struct Search {
    messages: BoxStream<'static, Result<Message, StoreError>>,
    /// When it is over, all edits up to this revision are known.
    revision: u64,
}

impl Subscription {
    pub(super) fn new(
        seat: Seat,
        window: watch::Receiver<Window>,
        readers: Arc<Semaphore>,
        held: Position,
    ) -> Self {
        let ready = VecDeque::new();
        Self {
            seat,
            window,
            readers,
            held,
            ready,
            told: None,
            told_aside: Aside::default(),
            search: None,
        }
    }

    /// Waits for what comes next; `None` when the chat is no longer there.
    ///
    /// While the store is away nothing comes.
    pub(crate) async fn next(&mut self) -> Option<Delivery> {
        let mut pause = PAUSES.0;
        loop {
            if let Some(delivery) = self.ready.pop_front() {
                return Some(delivery);
            }
            match self.prepare().await {
                Ok(true) => pause = PAUSES.0,
                Ok(false) => {
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
                Err(StoreError::ChatNotFound(_)) => return None,
                Err(error) => {
                    tracing::debug!(%error, "a subscription could not be read for");
                    self.search = None;
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
            }
        }
    }

    /// Goes on from elsewhere, and returns from where: a position beyond the end is taken back to the
    /// end.
    ///
    /// On an error it goes on from where it is.
    pub(crate) async fn resume(&mut self, at: Position) -> Result<Position, StoreError> {
        let head = self.window.borrow().head().cloned().ok_or_else(|| self.gone())?;
        let at = self.seat.feed.corrected(at, &head).await?;
        (self.held, self.told, self.search) = (at, None, None);
        self.ready.clear();
        Ok(at)
    }

    /// Returns how far they are when they have taken what is ready.
    pub(crate) fn held(&self) -> Position {
        self.held
    }

    /// Returns how the chat stood when they were told last; `None` until they have caught up.
    pub(crate) fn told(&self) -> Option<&ChatHead> {
        self.told.as_ref()
    }

    /// Makes something ready; `false`: the store does not show it yet.
    async fn prepare(&mut self) -> Result<bool, StoreError> {
        if let Some(search) = &mut self.search {
            match search.messages.try_next().await? {
                Some(message) => self.found(message),
                None => self.search_is_over(),
            }
            return Ok(true);
        }
        let next = self.window.borrow_and_update().next(self.held);
        match next {
            Next::Take(deliveries) => self.take(deliveries),
            Next::ReadMessages => return self.read_messages().await,
            Next::ReadEdits(edits) => self.read_edits(edits).await?,
            Next::LookThrough { revision } => {
                let messages = history(Arc::clone(&self.seat.feed));
                self.search = Some(Search { messages, revision });
            }
            Next::Wait if self.tell() => {}
            Next::Wait => {
                // An error says that the feed has ended, and the window why.
                let changed = self.window.changed().await;
                return changed.map(|()| true).map_err(|_| self.gone());
            }
            Next::Leave => return Err(self.gone()),
        }
        Ok(true)
    }

    fn gone(&self) -> StoreError {
        StoreError::ChatNotFound(self.seat.feed.chat_id.clone())
    }

    fn take(&mut self, deliveries: impl IntoIterator<Item = Delivery>) {
        self.ready.extend(deliveries);
        if let Some(position) = self.ready.back().and_then(|delivery| delivery.position) {
            self.held = position;
        }
    }

    async fn read_messages(&mut self) -> Result<bool, StoreError> {
        let messages = {
            let _turn = self.readers.acquire().await;
            self.seat.feed.page(self.held.next).await?
        };
        let revision = self.held.revision;
        let deliveries = messages.into_iter().map(|message| Delivery {
            position: Some(Position { next: message.sequence + 1, revision }),
            event: Event::message(message),
        });
        self.take(deliveries);
        Ok(!self.ready.is_empty())
    }

    async fn read_edits(&mut self, edits: Vec<(u64, u64)>) -> Result<(), StoreError> {
        let mut deliveries = Vec::new();
        for (revision, sequence) in edits {
            let _turn = self.readers.acquire().await;
            let event = Event::edit(self.seat.feed.message(sequence).await?);
            let position = Some(Position { revision, ..self.held });
            deliveries.push(Delivery { event, position });
        }
        self.take(deliveries);
        Ok(())
    }

    fn found(&mut self, message: Message) {
        let is_edited = message.edited_at.is_some() || message.deleted_at.is_some();
        if is_edited && message.sequence < self.held.next {
            self.ready.push_back(Delivery { event: Event::edit(message), position: None });
        }
    }

    fn search_is_over(&mut self) {
        if let Some(search) = self.search.take() {
            self.held.revision = search.revision;
        }
    }

    /// Makes ready what is new besides messages, if anything is, or that there is nothing more.
    fn tell(&mut self) -> bool {
        let window = self.window.borrow();
        let Some(head) = window.head() else { return false };
        let Some(told) = &self.told else {
            let position = (self.held.next > 0).then_some(self.held);
            self.ready.push_back(Delivery { event: Event::caught_up(head, self.held), position });
            let pending = window.pending_inputs().cloned();
            self.ready.extend(pending.map(|event| Delivery { event, position: None }));
            self.told = Some(head.clone());
            return true;
        };
        let status = |head: &ChatHead| (head.status, head.status_reason.clone());
        let events = [
            (status(told) != status(head)).then(|| Event::status(head)),
            (told.context_version != head.context_version).then(|| Event::context(head)),
            (told.artifact_version != head.artifact_version).then(|| Event::artifact(head)),
        ];
        let inputs = window.inputs_since(told.input_version).into_iter().cloned();
        let events = events.into_iter().flatten().chain(inputs);
        self.ready.extend(events.map(|event| Delivery { event, position: None }));
        let aside = window.aside().since(&self.told_aside);
        self.ready.extend(aside.map(|event| Delivery { event, position: None }));
        (self.told, self.told_aside) = (Some(head.clone()), window.aside().clone());
        !self.ready.is_empty()
    }
}

/// Streams the whole chat.
fn history(feed: Arc<Feed>) -> BoxStream<'static, Result<Message, StoreError>> {
    let messages = try_stream! {
        let mut history = feed.store.history(&feed.scope, &feed.chat_id);
        while let Some(message) = history.try_next().await? {
            yield message;
        }
    };
    messages.boxed()
}
