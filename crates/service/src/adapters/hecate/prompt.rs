use std::sync::Arc;

use async_stream::try_stream;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use futures::Stream;
use operation::operation;
use persistence::MessageSource as _;
use records::Message;
use serde::Serialize;
use utoipa::ToSchema;

use super::get::session_of;
use crate::adapters::ForeignQuery;
use crate::adapters::list_text::ListText;
use crate::adapters::said_fields::SaidFields;
use crate::admission::Reserve;
use crate::extract::{ChatDownload, Json};
use crate::history::{self, HistoryError, Source, next_page};
use crate::operation::Prepared;
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::state::AppState;

/// The messages of a session as a provider is sent them.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatSessionPrompt)]
pub(crate) struct PromptResponse {
    #[schema(example = "chat_prompt")]
    object: &'static str,
    /// The system prompt of the session, unless the messages begin with a system message, and the messages.
    data: Vec<SaidFields>,
}

/// Returns the messages of a session as a provider is sent them.
///
/// The system prompt of the session comes first, unless the messages begin with a system message.
#[operation(answers = "The messages")]
pub(crate) async fn get_prompt(
    State(state): State<AppState>,
    ChatDownload { scope, chat_id, limits, .. }: ChatDownload,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<9>,
    request_id: RequestId,
) -> Result<Prepared<Json<PromptResponse>>, Problem> {
    let chat = session_of(&state, &scope, &chat_id).await?;
    let source = Source { store: Arc::clone(&state.store), scope, chat_id };
    let chunks = chunks(source, chat.system_prompt, state.limits.request_timeout());
    let body = history::download(chunks, limits, request_id).await?;
    Ok(Prepared::new(([(CONTENT_TYPE, "application/json")], body)))
}

fn chunks(
    mut source: Source,
    system_prompt: Option<String>,
    read_timeout: std::time::Duration,
) -> impl Stream<Item = Result<Bytes, HistoryError>> + Send {
    try_stream! {
        let mut text = ListText::after(br#"{"object":"chat_prompt","data":["#.to_vec());
        let mut prompt = system_prompt;
        let mut pages = source.pages();
        while let Some(page) = next_page(&mut pages, read_timeout).await? {
            let is_said = |it: &Message| it.deleted_at.is_none() && SaidFields::says_anything(&it.body);
            for message in page.messages.into_iter().filter(is_said) {
                let is_system = message.body.role.eq_ignore_ascii_case("system");
                let prompt = prompt.take().filter(|_| !is_system);
                text.write(prompt.map(SaidFields::prompt))?;
                text.write([SaidFields::accepted(message)])?;
            }
            yield text.take();
        }
        drop(pages);
        text.write(prompt.map(SaidFields::prompt))?;
        text.end("]}");
        yield text.take();
    }
}
