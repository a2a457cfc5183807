use axum::extract::{FromRequest, Request};
use persistence::StoreError;
use records::NewMessage;
use serde::Deserialize;
use utoipa::ToSchema;

use super::body::MessageRequest;
use crate::extract::{read_json, typed};
use crate::problem::Problem;
use crate::state::AppState;

/// Several messages to append, all of them or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewMessages)]
pub(crate) struct BatchRequest {
    /// 1 to 1,000 messages of at most 4 MiB each, together at most 8 MiB.
    messages: Vec<MessageRequest>,
}

/// One message, or several below `messages`.
#[derive(Debug, ToSchema)]
#[schema(as = OneOrSeveralNewMessages)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the two forms; `MessagesBody` reads them")]
pub(crate) enum OneOrSeveral {
    One(Box<MessageRequest>),
    Several(BatchRequest),
}

/// The messages of a body.
#[derive(Debug)]
pub(crate) struct MessagesBody {
    messages: Vec<MessageRequest>,
    form: Form,
}

/// The form in which messages were sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Form {
    /// The body is the message.
    One,
    /// The messages are a list in the body.
    Several,
}

impl FromRequest<AppState> for MessagesBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let body = read_json(request, state).await?;
        if body.get("messages").is_some() {
            let BatchRequest { messages } = typed(body)?;
            let form = Form::Several;
            return Ok(Self { messages, form });
        }
        Ok(Self { messages: vec![typed(body)?], form: Form::One })
    }
}

impl MessagesBody {
    pub(super) fn form(&self) -> Form {
        self.form
    }

    /// Gives the messages their final form; those without a role get `default_role`, if any.
    pub(super) fn into_messages(
        self,
        default_role: Option<&str>,
    ) -> Result<Vec<NewMessage>, Problem> {
        let numbered = self.messages.into_iter().enumerate();
        numbered
            .map(|(index, message)| {
                message.into_message(default_role, &self.form.pointer_to(index))
            })
            .collect()
    }
}

impl Form {
    fn pointer_to(self, index: usize) -> String {
        match self {
            Self::One => String::new(),
            Self::Several => format!("/messages/{index}"),
        }
    }

    /// Turns an error of the store, which always counts messages, into one about this body.
    pub(super) fn problem(self, error: StoreError) -> Problem {
        let problem = Problem::from(error);
        match self {
            Self::One => problem.without_prefix("/messages/0"),
            Self::Several => problem,
        }
    }
}
