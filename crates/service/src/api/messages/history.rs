use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, VARY};
use operation::operation;
use persistence::Store;
use records::UserId;
use resume::dialect::{self, Dialect};
use resume::replay::Form;
use resume::{Options, UnsettledPolicy};
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use super::transcript;
use crate::admission::Reserve;
use crate::config::LimitsConfig;
use crate::extract::{AcceptedFormat, ChatDownload, FromParams, Params, Query, declared};
use crate::history::{self, Format, HistoryLine, HistoryResponse, Source};
use crate::openapi::values;
use crate::operation::{Description, Output, Prepared};
use crate::problem::Problem;
use crate::request_id::RequestId;

/// The dialect and the extent of the history.
#[derive(Debug, IntoParams)]
pub(crate) struct HistoryQuery {
    /// The dialect of the messages; `ag2` by default.
    #[param(value_type = Option<values::Dialect>)]
    dialect: &'static dyn Dialect,
    /// Only this many of the newest messages. System messages are kept and counted, and no tool call is
    /// separated from its results.
    #[param(value_type = Option<usize>, minimum = 1)]
    newest: Option<usize>,
    /// The name for user messages without a name; `user` by default.
    #[param(value_type = Option<values::Name>)]
    default_user_name: String,
    /// What to do with a message whose tool calls do not all have results directly after it: `remove`
    /// (default) removes its calls, `settle` adds the missing results as errors, `trim` drops the message,
    /// `reject` refuses the request with `unsettled-tool-calls`, `keep` leaves the calls open. `ag2` has no tool calls. Without this parameter, a call that
    /// came in a `ui-message` as waiting is shown there as waiting.
    #[param(value_type = Option<values::Unsettled>)]
    unsettled: Option<UnsettledPolicy>,
    /// Render as this agent sees the chat: its own turns are the assistant's, those of all others the user's, and only its own
    /// calls and thinking are kept. Not for `ag2`.
    #[param(rename = "as", value_type = Option<values::Name>)]
    viewpoint: Option<String>,
}

impl FromParams for HistoryQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let dialect = params.take_with("dialect", transcript::read_dialect)?;
        let user = params.take_with("default_user_name", |name| {
            UserId::parse(name).map_err(|error| error.rule)
        })?;
        let unsettled = params.take_with("unsettled", |name| {
            let names = || UnsettledPolicy::ALL.map(UnsettledPolicy::as_str).join(", ");
            UnsettledPolicy::from_name(name).ok_or_else(|| format!("must be one of {}", names()))
        })?;
        let viewpoint = params.take_with("as", |name| {
            UserId::parse(name).map(String::from).map_err(|error| error.rule)
        })?;
        let dialect = dialect.unwrap_or(&dialect::Ag2);
        if viewpoint.is_some() && dialect.name() == dialect::Ag2.name() {
            let detail =
                "must be combined with a dialect other than ag2, which names every speaker";
            return Err(Problem::invalid_parameter("as", detail));
        }
        Ok(Self {
            dialect,
            newest: params.take_in("newest", 1..=usize::MAX)?,
            default_user_name: user.map_or_else(|| "user".to_owned(), Into::into),
            unsettled,
            viewpoint,
        })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

impl From<HistoryQuery> for Form {
    fn from(query: HistoryQuery) -> Self {
        let HistoryQuery { default_user_name, unsettled, viewpoint, .. } = query;
        let options = Options { default_user_name, unsettled, viewpoint };
        Self { dialect: query.dialect, newest: query.newest, options }
    }
}

/// Returns the conversation in the dialect that an orchestrator resumes from.
///
/// What does not fit the dialect is dropped or repaired, and reported in the response. The response is
/// streamed while the chat is read, so it may have any length. If reading fails half-way, the connection is
/// closed; as NDJSON, the last line says that the history is complete. The connection is also closed within
/// `limits.recheck_ms` after the token was revoked, or after the caller has lost the right to read the chat.
#[operation(answers = "The conversation", problems = [UNSETTLED_TOOL_CALLS])]
pub(crate) async fn get_history(
    State(store): State<Arc<dyn Store>>,
    State(limits): State<Arc<LimitsConfig>>,
    ChatDownload { scope, chat_id, limits: download_limits, .. }: ChatDownload,
    Query(query): Query<HistoryQuery>,
    AcceptedFormat(format): AcceptedFormat,
    // Of these, 3 MiB are for messages that wait for the late result of a call.
    _: Reserve<9>,
    request_id: RequestId,
) -> Result<Prepared<Download>, Problem> {
    let source = Source { store, scope, chat_id };
    let chunks = history::read(source, query.into(), format, limits.request_timeout()).await?;
    let body = history::download(chunks, download_limits, request_id).await?;
    let headers = [(CONTENT_TYPE, format.media_type()), (VARY, "accept")];
    Ok(Prepared::new((headers, body)))
}

/// A conversation, in the media type that the caller prefers.
pub(crate) enum Download {}

impl Output for Download {
    fn describe(description: &mut Description) {
        let [json, ndjson] = [Format::Json, Format::Ndjson].map(Format::media_type);
        description.answers_content::<HistoryResponse>(StatusCode::OK, json);
        description.answers_content::<HistoryLine>(StatusCode::OK, ndjson);
    }
}
