//! Extractors: they turn a request into typed values and refuse what is invalid, so that handlers need not.

mod accepted_format;
mod batch_shape;
mod body;
mod byte_range;
mod chat_stream;
pub(crate) mod conditions;
mod content;
mod fencing_token;
mod given;
mod idempotency_key;
mod identity;
mod if_match;
mod json;
mod metrics_reader;
pub(crate) mod needs;
mod objects;
mod only_new;
mod operator;
mod params;
mod path;
mod query;
mod record_scope;
mod scope;
mod socket;
mod stats_scope;
mod ticket;
mod wallet_scope;

pub(crate) use accepted_format::AcceptedFormat;
pub(crate) use batch_shape::BatchShape;
pub(crate) use byte_range::ByteRange;
pub(crate) use chat_stream::{
    Bearer, ChatDownload, ChatReading, ChatStream, DocumentsStream, LastEventId,
};
pub(crate) use content::{AnyContent, BYTES, is_json};
pub(crate) use given::given;
pub(crate) use idempotency_key::{IdempotencyKey, Keyed, required_id};
pub(crate) use identity::{RequestOrigin, Verified};
pub(crate) use if_match::{
    Tagged, answer_if_none_match, refuse_if_match, refuse_if_none_match, tag_after_write,
};
pub(crate) use json::{
    Json, LimitedLists, ListJson, MergePatch, OptionalJson, UnreadJson, parse, typed,
};
pub(crate) use metrics_reader::MetricsReader;
pub(crate) use only_new::OnlyNew;
pub(crate) use operator::{OperatedApp, Operator};
pub(crate) use params::Params;
pub(crate) use path::{ContextVersion, FencingToken, MessageId, Path, Sequence};
pub(crate) use query::{FromParams, Query, declared, foreign_params};
pub(crate) use record_scope::{AssistantScope, AssistantsScope, DocumentScope, DocumentsScope};
pub(crate) use scope::{
    AppScope, ChatScope, UnscopedCaller, authorize_chat, check_acts_for, check_creates,
    record_support, record_support_in,
};
pub(crate) use socket::{SocketRequest, SocketTarget};
pub(crate) use stats_scope::{AllStatsScope, AppStatsScope, UserStatsScope, WorkflowScope};
pub(crate) use ticket::TICKET_PARAM;
pub(crate) use wallet_scope::{UnscopedUser, WalletScope};

use axum::http::header::AsHeaderName;
use axum::http::{HeaderMap, HeaderValue};

use crate::problem::Problem;

/// Returns a header that may be given only once; `shown` is its name as it is usually written.
fn only_header<'a>(
    headers: &'a HeaderMap,
    name: impl AsHeaderName,
    shown: &str,
) -> Result<Option<&'a HeaderValue>, Problem> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        _ => Err(Problem::invalid_parameter(shown, "must be given only once")),
    }
}
