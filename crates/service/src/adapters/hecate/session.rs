//! A session as text, written while the chat is read: a chat may have any length.

use std::sync::Arc;
use std::time::Duration;

use async_stream::try_stream;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use futures::Stream;
use persistence::{CallCursor, CallPage, MessageSource as _, StoreError};
use records::{ChatSession, Permission, ProviderCall, Scope};

use super::wire::{CallItem, MessageItem, SessionResponse};
use crate::adapters::list_text::ListText;
use crate::extract::Json;
use crate::history::{self, HistoryError, Source, next_page};
use crate::live::DownloadLimits;
use crate::operation::Prepared;
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::state::AppState;

/// How many calls are read at a time.
const CALLS: usize = 1_000;

/// Answers with a session and both of its streams.
pub(super) async fn answer(
    state: &AppState,
    chat: ChatSession,
    scope: Scope,
    limits: DownloadLimits,
    request_id: RequestId,
) -> Result<Prepared<Json<SessionResponse>>, Problem> {
    let source = Source {
        store: Arc::clone(&state.store),
        scope: scope.needing(Permission::Read),
        chat_id: chat.chat_id.clone(),
    };
    let chunks = chunks(source, chat, state.limits.request_timeout());
    let body = history::download(chunks, limits, request_id).await?;
    Ok(Prepared::new(([(CONTENT_TYPE, "application/json")], body)))
}

/// Writes the session, then its messages, then its calls.
fn chunks(
    mut source: Source,
    chat: ChatSession,
    read_timeout: Duration,
) -> impl Stream<Item = Result<Bytes, HistoryError>> + Send {
    try_stream! {
        let calls = Calls::of(&source).await?;
        let mut text = ListText::after(up_to_messages(&SessionResponse::empty(chat))?);
        let mut pages = source.pages();
        while let Some(page) = next_page(&mut pages, read_timeout).await? {
            let messages = page.messages.into_iter().filter(|message| message.deleted_at.is_none());
            text.write(messages.map(MessageItem::from))?;
            yield text.take();
        }
        drop(pages);
        text.end(r#"],"provider_calls":["#);
        for start in calls.starts.iter().rev() {
            let page = source.calls(Some(start)).await?;
            text.write(page.calls.into_iter().rev().map(CallItem::from))?;
            yield text.take();
        }
        text.write(calls.newest.into_iter().rev().map(CallItem::from))?;
        text.end("]}}");
        yield text.take();
    }
}

/// Returns the text of a session without messages and calls, up to where the messages begin.
fn up_to_messages(session: &SessionResponse) -> serde_json::Result<Vec<u8>> {
    const LISTS: &[u8] = br#"],"provider_calls":[]}}"#;
    let mut text = serde_json::to_vec(session)?;
    text.truncate(text.len() - LISTS.len());
    Ok(text)
}

/// The calls of a chat. They are listed newest first, and written oldest first: the newest page is kept, and of the others
/// where they begin.
struct Calls {
    newest: Vec<ProviderCall>,
    starts: Vec<CallCursor>,
}

impl Calls {
    async fn of(source: &Source) -> Result<Self, StoreError> {
        let CallPage { calls: newest, mut next } = match source.calls(None).await {
            // Callers that may read the chat, but not manage it, do not see what it costs.
            Err(StoreError::Forbidden { .. }) => CallPage { calls: Vec::new(), next: None },
            page => page?,
        };
        let mut starts = Vec::new();
        while let Some(start) = next {
            next = source.calls(Some(&start)).await?.next;
            starts.push(start);
        }
        Ok(Self { newest, starts })
    }
}

impl Source {
    async fn calls(&self, after: Option<&CallCursor>) -> Result<CallPage, StoreError> {
        let scope = self.scope.needing(Permission::Manage);
        self.store.list_calls(&scope, &self.chat_id, CALLS, after).await
    }
}
