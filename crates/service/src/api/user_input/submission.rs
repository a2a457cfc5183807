use persistence::{AnsweredInput, Appended, Store, StoreError};
use records::{
    Caller, ChatId, EventId, InputKind, InputRequest, InputRequestId, MessageBody, NewInputAnswer,
    NewMessage, Scope,
};
use serde_json::Value;

use crate::problem::Problem;

/// A text that somebody says to a workflow, as an answer where it waits for one.
#[derive(Debug)]
pub(crate) struct Submission {
    /// What they say.
    pub(crate) text: String,
    /// Who says it; the caller when it is missing.
    pub(crate) name: Option<String>,
    /// The request that it answers; when it is missing, the one that is pending, if one is.
    pub(crate) request_id: Option<InputRequestId>,
    /// Makes it safe to send again.
    pub(crate) event_id: Option<EventId>,
}

/// What became of a submission.
#[derive(Debug)]
pub(crate) struct Submitted {
    /// The message that it has become.
    pub(crate) message: Appended,
    /// The request that it has answered.
    pub(crate) request_id: Option<InputRequestId>,
}

impl Submission {
    /// Answers the request it names, or the one that is pending, or says it as a message.
    ///
    /// `field` names, as a JSON pointer, where the text stands in what the caller has sent.
    pub(crate) async fn submit(
        self,
        store: &dyn Store,
        scope: &Scope,
        chat_id: &ChatId,
        field: &str,
    ) -> Result<Submitted, Problem> {
        if self.text.trim().is_empty() {
            return Err(Problem::invalid_body(field, "must not be blank"));
        }
        match self.answered(store, scope, chat_id).await? {
            Some(request) => self.answer(store, scope, &request, field).await,
            None => self.say(store, scope, chat_id, field).await,
        }
    }

    async fn answered(
        &self,
        store: &dyn Store,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<InputRequest>, Problem> {
        let request_id = match self.request_id.clone() {
            Some(request_id) => Some(request_id),
            None => only_pending(store, scope, chat_id).await?,
        };
        let Some(request_id) = request_id else { return Ok(None) };
        Ok(Some(store.get_input_request(scope, chat_id, &request_id).await?))
    }

    async fn answer(
        self,
        store: &dyn Store,
        scope: &Scope,
        request: &InputRequest,
        field: &str,
    ) -> Result<Submitted, Problem> {
        let content = match (request.question.kind, self.text.trim()) {
            (InputKind::Confirm, "true") => Value::Bool(true),
            (InputKind::Confirm, "false") => Value::Bool(false),
            _ => Value::String(self.text),
        };
        let Self { name, event_id, .. } = self;
        let answer = NewInputAnswer { event_id, name, content, tool_call: None };
        let (chat_id, request_id) = (&request.chat_id, &request.request_id);
        let answered = store.answer_input_request(scope, chat_id, request_id, answer).await;
        let AnsweredInput { append, .. } =
            answered.map_err(|error| Problem::from(error).moved("/content", field))?;
        Ok(Submitted { message: append.messages[0].clone(), request_id: Some(request_id.clone()) })
    }

    async fn say(
        self,
        store: &dyn Store,
        scope: &Scope,
        chat_id: &ChatId,
        field: &str,
    ) -> Result<Submitted, Problem> {
        let caller = match &scope.caller {
            Caller::User { user_id, .. } => Some(user_id.as_str()),
            Caller::Service => None,
        };
        let name = self.name.as_deref().or(caller).unwrap_or("user");
        let body = MessageBody::new("user", Some(name), self.text);
        let message = NewMessage { event_id: self.event_id, ..body.into() };
        let append = store.append(scope, chat_id, vec![message]).await;
        let append = append.map_err(|error| {
            Problem::from(error).moved("/messages/0/content", field).moved("/messages/0", "")
        })?;
        Ok(Submitted { message: append.messages[0].clone(), request_id: None })
    }
}

/// Returns the request that is pending, which must be the only one.
async fn only_pending(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
) -> Result<Option<InputRequestId>, Problem> {
    let chat = store.get_chat(scope, chat_id).await?;
    let pending = chat.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?.pending_inputs;
    if pending.len() > 1 {
        let detail = format!("must name one of the {} requests pending", pending.len());
        return Err(Problem::invalid_body("/request_id", detail));
    }
    Ok(pending.into_iter().next())
}
