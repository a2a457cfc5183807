use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_stream::try_stream;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use futures::{Stream, TryStreamExt as _};
use operation::operation;
use persistence::{MessageSource as _, StoreError};
use records::Message;
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::context_window::{ContextScan, Strategy, is_system};
use crate::adapters::ForeignQuery;
use crate::adapters::list_text::ListText;
use crate::adapters::range;
use crate::adapters::said_fields::SaidFields;
use crate::admission::Reserve;
use crate::config::{ChatsgConfig, LimitsConfig};
use crate::extract::{ChatDownload, FromParams, Json, Params, declared};
use crate::history::{self, HistoryError, Source, next_page};
use crate::operation::Prepared;
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::state::AppState;

/// The context to return.
#[derive(Debug, IntoParams)]
pub(crate) struct GetContextQuery {
    /// The most messages, the system prompt included, 1 to 1,000; 100 by default.
    #[param(value_type = Option<usize>)]
    max: Option<usize>,
    /// What is left out if there are more: `sliding-window` (default) keeps the newest system messages, as many as `reserve`
    /// says, and the newest others; `truncate` keeps the newest messages, whatever their types.
    #[param(inline, value_type = Option<StrategyWord>)]
    strategy: StrategyWord,
    /// The most system messages that a sliding window keeps, 0 to 1,000; 10 by default.
    #[param(value_type = Option<usize>)]
    reserve: Option<usize>,
    /// `false`: without the system messages of the session. The system prompt stays.
    #[param(value_type = Option<bool>)]
    system: bool,
}

/// How messages are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StrategyWord {
    SlidingWindow,
    Truncate,
}

impl FromParams for GetContextQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let strategy = params.take_with("strategy", |word| match word {
            "sliding-window" => Ok(StrategyWord::SlidingWindow),
            "truncate" => Ok(StrategyWord::Truncate),
            _ => Err("must be sliding-window or truncate"),
        })?;
        Ok(Self {
            max: params.take_in("max", 1..=ChatsgConfig::MAX_CONTEXT)?,
            strategy: strategy.unwrap_or(StrategyWord::SlidingWindow),
            reserve: params.take_in("reserve", 0..=ChatsgConfig::MAX_CONTEXT)?,
            system: params.take("system")?.unwrap_or(true),
        })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// The messages that a model is sent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionContext)]
pub(crate) struct ContextResponse {
    /// The system prompt of the session, if it has one, and messages, oldest first.
    messages: Vec<SaidFields>,
    /// The number of messages that the context would have without `max`.
    #[serde(rename = "totalMessages")]
    total_messages: usize,
    /// Whether messages were left out.
    truncated: bool,
    strategy: StrategyWord,
    /// The number of messages that were left out.
    dropped: usize,
}

/// Returns the messages that a model is sent: the system prompt of the session, and the newest messages.
///
/// System messages keep their places. A call of a tool and its results are both in the context, or both are not, so that it
/// may have fewer messages than it could. Deleted messages are not in it.
#[operation(answers = "The context")]
pub(crate) async fn get_session_context(
    State(state): State<AppState>,
    ChatDownload { scope, chat_id, limits, .. }: ChatDownload,
    ForeignQuery(query): ForeignQuery<GetContextQuery>,
    _: Reserve<9>,
    request_id: RequestId,
) -> Result<Prepared<Json<ContextResponse>>, Problem> {
    let chat = state.store.get_chat(&scope, &chat_id).await?;
    let chat = chat.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
    let config = &state.adapters.chatsg;
    let wanted = Wanted {
        prompt: chat.system_prompt,
        max: query.max.unwrap_or(config.max_context_messages),
        reserve: query.reserve.unwrap_or(config.system_prompt_reserve),
        strategy: query.strategy,
        has_system: query.system,
    };
    let source = Source { store: Arc::clone(&state.store), scope, chat_id };
    let chunks = chunks(source, wanted, state.limits.request_timeout());
    let body = history::download(chunks, limits, request_id).await?;
    Ok(Prepared::new(([(CONTENT_TYPE, "application/json")], body)))
}

/// The context of a session that is wanted.
struct Wanted {
    prompt: Option<String>,
    max: usize,
    reserve: usize,
    strategy: StrategyWord,
    has_system: bool,
}

impl Wanted {
    /// Returns whether a message may be in the context.
    fn admits(&self, message: &Message) -> bool {
        message.deleted_at.is_none()
            && (self.has_system || !is_system(message))
            && SaidFields::says_anything(&message.body)
    }

    fn scan(&self) -> ContextScan {
        let strategy = match self.strategy {
            StrategyWord::SlidingWindow => Strategy::SlidingWindow { reserve: self.reserve },
            StrategyWord::Truncate => Strategy::Truncate,
        };
        ContextScan::new(self.max - usize::from(self.prompt.is_some()), strategy)
    }
}

/// Chooses the messages, and then reads those that were chosen. Messages that are stored meanwhile are left out.
fn chunks(
    mut source: Source,
    mut wanted: Wanted,
    read_timeout: Duration,
) -> impl Stream<Item = Result<Bytes, HistoryError>> + Send {
    try_stream! {
        let (mut scan, mut end) = (wanted.scan(), 0);
        let mut pages = source.pages();
        while let Some(page) = next_page(&mut pages, read_timeout).await? {
            page.messages.iter().filter(|it| wanted.admits(it)).for_each(|it| scan.observe(it));
            end = page.messages.last().map_or(end, |message| message.sequence + 1);
        }
        drop(pages);
        let chosen = scan.into_chosen();
        let prompt = wanted.prompt.take().map(SaidFields::prompt);
        let total = chosen.total + usize::from(prompt.is_some());
        let mut text = ListText::after(br#"{"messages":["#.to_vec());
        text.write(prompt)?;
        if let Some(first) = chosen.first() {
            let mut pages = pin!(range::pages(&source, first..end, read_timeout));
            while let Some(page) = pages.try_next().await? {
                let messages = page.messages.into_iter();
                let kept = messages.filter(|it| wanted.admits(it) && chosen.contains(it));
                text.write(kept.map(SaidFields::accepted))?;
                yield text.take();
            }
        }
        let strategy = serde_json::to_string(&wanted.strategy)?;
        let (dropped, truncated) = (chosen.dropped, chosen.dropped > 0);
        text.end(&format!(
            r#"],"totalMessages":{total},"truncated":{truncated},"strategy":{strategy},"dropped":{dropped}}}"#
        ));
        yield text.take();
    }
}
