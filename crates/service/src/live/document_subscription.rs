use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use persistence::{DocumentChange, DocumentRange, Store, StoreError};
use records::{AppId, DocumentPath, Reach, Scope};
use serde::Serialize;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep_until};
use utoipa::ToSchema;

use super::document_log::{DocumentPermit, DocumentPosition, Kept};
use super::hub::Hub;
use crate::openapi::values;
use crate::problem::Problem;

/// How many changes are looked at together.
const MAX_CHANGES: usize = 256;

/// The shortest time between two events that tell a client to list the documents again.
const MIN_RESYNC_INTERVAL: Duration = Duration::from_secs(1);

/// An event of the documents of an app.
#[derive(Debug, PartialEq)]
pub(crate) enum DocumentEvent {
    /// Everything before this event may have changed: the client lists the documents.
    Resync,
    /// A document was created, replaced or appended to.
    Changed(DocumentPath, u64),
    /// A document was deleted.
    Deleted(DocumentPath),
}

/// The `data` of an event.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DocumentEvent)]
pub(crate) struct DocumentEventResponse {
    /// The path of the document; missing in `resync`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<values::DocumentPath>)]
    path: Option<DocumentPath>,
    /// The version of a document that has changed, or a later one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 3)]
    version: Option<u64>,
}

impl DocumentEvent {
    /// Returns the name of the event, and its data.
    pub(super) fn into_response(self) -> (&'static str, DocumentEventResponse) {
        match self {
            Self::Resync => ("resync", DocumentEventResponse { path: None, version: None }),
            Self::Changed(path, version) => {
                ("changed", DocumentEventResponse { path: Some(path), version: Some(version) })
            }
            Self::Deleted(path) => {
                ("deleted", DocumentEventResponse { path: Some(path), version: None })
            }
        }
    }
}

/// The documents of one namespace of an app, as one caller may list them.
#[derive(Debug)]
pub(crate) struct DocumentSubscription {
    scope: Scope,
    namespace: Option<DocumentPath>,
    store: Arc<dyn Store>,
    read_permits: Arc<Semaphore>,
    kept: watch::Receiver<Kept>,
    at: Option<DocumentPosition>,
    /// Events that were found and not sent yet, each with the position after it.
    found: VecDeque<(DocumentEvent, DocumentPosition)>,
    resync_at: Instant,
    _permit: DocumentPermit,
}

/// A change within the namespace, with the position after it.
type Listed = (DocumentChange, DocumentPosition);

/// What the log has for a subscriber.
enum Next {
    Resync,
    Changes(Vec<Listed>),
    Nothing,
}

impl Hub {
    /// Subscribes a client to the documents of a namespace that it may list, from a position on.
    pub(crate) fn subscribe_to_documents(
        &self,
        scope: &Scope,
        namespace: Option<DocumentPath>,
        at: Option<DocumentPosition>,
    ) -> Result<DocumentSubscription, Problem> {
        let shares = self.quotas.take(scope)?;
        let permit = self.documents.admit(self.limits.subscribers, shares, &self.store)?;
        Ok(DocumentSubscription {
            scope: scope.clone(),
            namespace,
            store: Arc::clone(&self.store),
            read_permits: Arc::clone(&self.read_permits),
            kept: permit.subscribe(),
            at,
            found: VecDeque::new(),
            resync_at: Instant::now(),
            _permit: permit,
        })
    }
}

impl DocumentSubscription {
    /// Returns the next event with the position after it; `None` when there will be none. Safe to cancel.
    pub(super) async fn next(&mut self) -> Option<(DocumentEvent, DocumentPosition)> {
        loop {
            if let Some((event, at)) = self.found.pop_front() {
                self.at = Some(at);
                return Some((event, at));
            }
            match self.examine() {
                Next::Resync => return Some(self.resync().await),
                Next::Nothing => self.kept.changed().await.ok()?,
                Next::Changes(changes) => match self.events(changes).await {
                    Ok(events) => self.found = events,
                    Err(error) => {
                        tracing::debug!(%error, "failed to read changed documents");
                        return Some(self.resync().await);
                    }
                },
            }
        }
    }

    /// Looks for changes after the position, and moves it past those that are not of the namespace.
    fn examine(&mut self) -> Next {
        let kept = self.kept.borrow_and_update();
        let Some(end) = kept.end() else { return Next::Nothing };
        let Some((at, changes)) = self.at.and_then(|at| Some((at, kept.after(at)?))) else {
            return Next::Resync;
        };
        let positions = (at.next + 1..).map(|next| DocumentPosition { next, ..at });
        let within = |(change, _): &(&DocumentChange, _)| {
            is_within(change, &self.scope.app_id, self.namespace.as_ref())
        };
        let changes = changes.zip(positions).filter(within).take(MAX_CHANGES);
        let changes: Vec<_> = changes.map(|(change, at)| (change.clone(), at)).collect();
        if changes.is_empty() {
            self.at = Some(end);
            return Next::Nothing;
        }
        Next::Changes(changes)
    }

    /// Waits until the client may be told to list the documents again. That covers all changes until then.
    async fn resync(&mut self) -> (DocumentEvent, DocumentPosition) {
        loop {
            sleep_until(self.resync_at).await;
            let end = self.kept.borrow_and_update().end();
            if let Some(end) = end {
                self.at = Some(end);
                self.resync_at = Instant::now() + MIN_RESYNC_INTERVAL;
                return (DocumentEvent::Resync, end);
            }
            if self.kept.changed().await.is_err() {
                // The process stops, which ends the stream.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Returns the events that the client is sent of changes.
    ///
    /// The rights in a deleted document cannot be checked any more, so a caller who does not reach every document is told to list
    /// them again.
    async fn events(
        &self,
        changes: Vec<Listed>,
    ) -> Result<VecDeque<(DocumentEvent, DocumentPosition)>, EventsError> {
        let reaches_every = self.scope.reach(self.scope.permission) == Reach::Every;
        let mut events = VecDeque::new();
        for (index, (change, at)) in changes.iter().enumerate() {
            let event = match change {
                DocumentChange::Written { path, version, .. } if reaches_every => {
                    DocumentEvent::Changed(path.clone(), *version)
                }
                DocumentChange::Deleted { path, .. } if reaches_every => {
                    DocumentEvent::Deleted(path.clone())
                }
                DocumentChange::Written { path, .. } => {
                    let is_this = |(later, _): &Listed| matches!(later, DocumentChange::Written { path: later, .. } if later == path);
                    // What is read shows the later changes, too.
                    if changes.iter().skip(index + 1).any(is_this) {
                        continue;
                    }
                    match self.listed_version(path).await? {
                        Some(version) => DocumentEvent::Changed(path.clone(), version),
                        None => continue,
                    }
                }
                DocumentChange::Deleted { .. } => return Err(EventsError::Hidden),
                DocumentChange::Began | DocumentChange::Lost => continue,
            };
            events.push_back((event, *at));
        }
        Ok(events)
    }

    /// Returns the version of a document; `None` if the caller does not list it.
    async fn listed_version(&self, path: &DocumentPath) -> Result<Option<u64>, StoreError> {
        let Ok(_permit) = self.read_permits.acquire().await else { return Ok(None) };
        let read = self.store.read_document(&self.scope, path, DocumentRange::Nothing).await?;
        let head = read.map(|read| read.head);
        let reach = self.scope.reach(self.scope.permission);
        let listed = head.filter(|it| it.binding.chat_id.is_none() && reach.lists_record(it));
        Ok(listed.map(|head| head.version))
    }
}

/// The reason why a client is not sent single changes.
#[derive(Debug, thiserror::Error)]
enum EventsError {
    /// It may not know which document was deleted.
    #[error("the rights in a deleted document are unknown")]
    Hidden,
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn is_within(change: &DocumentChange, app: &AppId, namespace: Option<&DocumentPath>) -> bool {
    match change {
        DocumentChange::Written { app_id, path, .. } | DocumentChange::Deleted { app_id, path } => {
            app_id == app && namespace.is_none_or(|namespace| path.is_within(namespace))
        }
        DocumentChange::Began | DocumentChange::Lost => false,
    }
}
