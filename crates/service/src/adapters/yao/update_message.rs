use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{JsonObject, Message, MessageEdit};
use resume::Options;
use resume::dialect::{Dialect as _, Yao};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::find::WantedMessages;
use super::reader::typed_messages;
use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::api::messages::{own_or_any, read_valid};
use crate::config::LimitsConfig;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, FromParams, Json, Keyed, MessageId, Params, Path, declared};
use crate::problem::Problem;

/// The request of a message.
#[derive(Debug, IntoParams)]
pub(super) struct RequestOfMessage {
    /// The request that the message belongs to; required if messages of several requests have the id.
    pub(super) request_id: Option<String>,
}

impl FromParams for RequestOfMessage {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let request_id = params.take_with("request_id", |text| Ok::<_, String>(text.to_owned()))?;
        Ok(Self { request_id: request_id.filter(|it| !it.is_empty()) })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// A change of a message: at least one field. What is missing stays; other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = UpdateChatMessage, example = json!({"props": {"content": "It will rain."}}))]
pub(crate) struct UpdateMessageRequest {
    /// Replaces all of the old.
    #[schema(value_type = Option<Object>)]
    props: Option<JsonObject>,
    #[serde(rename = "type")]
    kind: Option<String>,
    /// Replaces all of the old.
    #[schema(value_type = Option<Object>)]
    metadata: Option<JsonObject>,
}

impl Keyed for UpdateMessageRequest {}

impl UpdateMessageRequest {
    /// Returns the edit that makes a stored message what it is with the change.
    async fn edit_of(self, message: &Message) -> Result<MessageEdit, Problem> {
        let mut typed = Yao.render(vec![message.clone()], &Options::default()).messages;
        let (Some(mut changed), true) = (typed.pop(), typed.is_empty()) else {
            let detail = "the message has several types: another system wrote it";
            return Err(Problem::invalid_body("", detail));
        };
        if !message.body.extra.contains_key("message_id")
            && let Some(changed) = changed.as_object_mut()
        {
            changed.shift_remove("message_id");
        }
        let fields = [
            ("props", self.props.map(Value::from)),
            ("type", self.kind.map(Value::from)),
            ("metadata", self.metadata.map(Value::from)),
        ];
        let given: Vec<_> =
            fields.into_iter().filter_map(|(field, value)| Some((field, value?))).collect();
        if given.is_empty() {
            return Err(Problem::invalid_body("", "props, type or metadata is required"));
        }
        for (field, value) in given {
            changed[field] = value;
        }
        match read_valid(&Yao, vec![changed]).await?.messages.pop() {
            Some(read) => Ok(MessageEdit::from(read.body)),
            None => Err(Problem::invalid_body("/type", "must be a type that is stored")),
        }
    }
}

/// A message with a type and props.
#[derive(Debug, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(as = TypedChatMessage, value_type = Object)]
pub(crate) struct TypedMessageResponse(Value);

/// Changes the props, the type or the metadata of a message.
///
/// Users edit what they have written themselves; other messages need the permission `run`.
#[operation(
    answers = "The changed message",
    problems = [MESSAGE_NOT_FOUND, MESSAGE_TOO_LARGE],
)]
pub(crate) async fn update_session_message(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say, Fenced>,
    Path(MessageId(message_id)): Path<MessageId>,
    ForeignQuery(query): ForeignQuery<RequestOfMessage>,
    _: Reserve<16>,
    Json(request): Json<UpdateMessageRequest>,
) -> Result<Json<TypedMessageResponse>, Problem> {
    let wanted =
        WantedMessages { message_ids: &[message_id], request_id: query.request_id.as_deref() };
    let message = wanted.find_one(&*store, &scope, &chat_id).await?;
    let sequence = message.sequence;
    let edit = request.edit_of(&message).await?;
    let update = async |scope| store.update_message(&scope, &chat_id, sequence, edit.clone()).await;
    let message = own_or_any(&scope, update).await?;
    Ok(Json(TypedMessageResponse(typed_messages(&chat_id, message).pop().unwrap_or_default())))
}
