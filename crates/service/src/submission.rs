use persistence::{AnsweredInput, Appended, Outcome, Store, StoreError};
use records::{
    Author, ChatId, EventId, InputKind, InputRequest, InputRequestId, Location, Message,
    MessageBody, NewInputAnswer, NewMessage, Permission, Scope, Segment, UserId,
};
use serde_json::Value;

use crate::joining;
use crate::problem::Problem;

/// An input of a user: the answer to an input request, or a message.
#[derive(Debug)]
pub(crate) struct Submission {
    /// The text of the input.
    pub(crate) text: String,
    /// The user; the caller if missing.
    pub(crate) user_id: Option<UserId>,
    /// The input request that it answers; if missing, the pending one, if there is one.
    pub(crate) request_id: Option<InputRequestId>,
    /// The idempotency key; minted if missing.
    pub(crate) event_id: Option<EventId>,
}

/// A stored input.
#[derive(Debug)]
pub(crate) struct Submitted {
    /// The message that the input became.
    pub(crate) message: Appended,
    /// The input request that it has answered.
    pub(crate) request_id: Option<InputRequestId>,
}

impl Submission {
    /// Stores the input: as the answer to the request that it names or to the pending one, or as a message.
    ///
    /// `field` is the JSON pointer to the text in the caller's request.
    pub(crate) async fn submit(
        self,
        store: &dyn Store,
        scope: &Scope,
        chat_id: &ChatId,
        field: &'static str,
    ) -> Result<Submitted, Problem> {
        if self.text.trim().is_empty() {
            return Err(Problem::invalid_body(field, "must not be empty or blank"));
        }
        // A person who may only read joins by saying something, so what is read here needs no more.
        let reading = &scope.needing(Permission::Read);
        if let Some(stored) = self.find_stored(store, reading, chat_id).await? {
            return Ok(stored);
        }
        match self.request_to_answer(store, reading, chat_id).await? {
            Some(request) => self.answer(store, scope, &request, field).await,
            None => self.append(store, scope, chat_id, field).await,
        }
    }

    /// Finds the message of an input that was stored before, by its idempotency key.
    ///
    /// A retry must return the first response even if another input request is pending by now, which the
    /// text would otherwise answer.
    async fn find_stored(
        &self,
        store: &dyn Store,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<Submitted>, Problem> {
        let (Some(event_id), None) = (&self.event_id, &self.request_id) else { return Ok(None) };
        let known = store.get_message_by_id(scope, chat_id, event_id).await?;
        let is_same = |message: &Message| {
            let contents = [Some(self.text.as_str().into()), decision(&self.text).map(Value::Bool)];
            let body = &message.body;
            let is_same_content = contents.contains(&Some(body.content.clone()));
            body.role == "user"
                && body.name.as_deref() == Some(self.speaker(scope))
                && is_same_content
        };
        let Some(known) = known.filter(is_same) else { return Ok(None) };
        let metadata = known.body.metadata.unwrap_or_default();
        let request_id = metadata.get(NewInputAnswer::REQUEST).and_then(Value::as_str);
        let request_id = request_id.and_then(|id| InputRequestId::parse(id).ok());
        let (event_id, sequence) = (known.event_id, known.sequence);
        let message = Appended { event_id, sequence, outcome: Outcome::Duplicate };
        Ok(Some(Submitted { message, request_id }))
    }

    fn speaker<'a>(&'a self, scope: &'a Scope) -> &'a str {
        self.user_id.as_ref().or(scope.caller.person()).map_or("user", UserId::as_str)
    }

    /// Returns the user that a service names; for a user the store takes the author from the scope.
    fn author(&self, scope: &Scope) -> Option<Author> {
        let user_id = self.user_id.clone().filter(|_| scope.caller.person().is_none())?;
        Some(Author { user_id, display_name: None })
    }

    async fn request_to_answer(
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
        field: &'static str,
    ) -> Result<Submitted, Problem> {
        let (name, author) = (Some(self.speaker(scope).to_owned()), self.author(scope));
        let content = match (request.question.kind, decision(&self.text)) {
            (InputKind::Confirm, Some(decision)) => Value::Bool(decision),
            _ => Value::String(self.text),
        };
        let event_id = self.event_id;
        let answer = NewInputAnswer { event_id, name, author, content, tool_call: None };
        let (chat_id, request_id) = (&request.chat_id, &request.request_id);
        let answered = joining::answer(store, scope, chat_id, request_id, answer).await;
        let AnsweredInput { append, .. } = answered.map_err(|error| refused(error, field))?;
        Ok(Submitted { message: append.messages[0].clone(), request_id: Some(request_id.clone()) })
    }

    async fn append(
        self,
        store: &dyn Store,
        scope: &Scope,
        chat_id: &ChatId,
        field: &'static str,
    ) -> Result<Submitted, Problem> {
        let body = MessageBody::new("user", Some(self.speaker(scope)), self.text.as_str());
        let author = self.author(scope);
        let message = NewMessage { event_id: self.event_id, body, author };
        let append = joining::append(store, scope, chat_id, vec![message]).await;
        let append = append.map_err(|error| refused(error, field))?;
        Ok(Submitted { message: append.messages[0].clone(), request_id: None })
    }
}

/// Creates the problem of an input that the store refused: what the store calls the content is the text in `field`.
fn refused(error: StoreError, field: &'static str) -> Problem {
    Problem::located(error, |at| match &*at.path {
        [content] if *content == Segment::key("content") => field.into(),
        _ => Location { item: None, ..at },
    })
}

/// Parses the answer to a question of the kind `confirm`.
fn decision(text: &str) -> Option<bool> {
    text.trim().parse().ok()
}

/// Returns the pending input request, of which there may be only one.
async fn only_pending(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
) -> Result<Option<InputRequestId>, Problem> {
    let chat = store.get_chat(scope, chat_id).await?;
    let pending = chat.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?.pending_inputs;
    if pending.len() > 1 {
        let detail = format!("is required: {} input requests are pending", pending.len());
        return Err(Problem::invalid_body("/request_id", detail));
    }
    Ok(pending.into_iter().next())
}
