use chrono::TimeDelta;
use records::{Caller, ChatId, NewDocument, StatedBinding, TeamId, UserId, Visibility};
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use crate::config::LimitsConfig;
use crate::extract::{AnyContent, FromParams, Params, declared};
use crate::openapi::values;
use crate::problem::{Problem, ProblemKind};

/// The longest lifetime of a document: ten years.
const MAX_TTL_SECONDS: u32 = 315_360_000;

/// To whom a document belongs. It is decided when the document is created; a later write may state the same.
#[derive(Debug, Default, IntoParams)]
pub(crate) struct BindingQuery {
    /// The chat of the document: the rights are those in the chat, and the document is deleted and erased with it.
    #[param(value_type = Option<values::ChatId>)]
    chat_id: Option<ChatId>,
    /// The owner. A user may name only themselves, and is the owner of what they create.
    #[param(value_type = Option<values::Name>)]
    user_id: Option<UserId>,
    /// Who may read a document of no chat besides its owner; `private` by default. `team` needs a `team_id`.
    #[param(value_type = Option<values::Visibility>)]
    visibility: Option<Visibility>,
    /// The team. A user may name only their own.
    #[param(value_type = Option<values::Name>)]
    team_id: Option<TeamId>,
    /// How many seconds the document exists from now on, at most ten years; without it, for good.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 315_360_000)]
    ttl_seconds: Option<u32>,
}

impl FromParams for BindingQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self {
            chat_id: params.take("chat_id")?,
            user_id: params.take("user_id")?,
            visibility: params.take_with("visibility", |text| {
                let named = Visibility::ALL.into_iter().find(|it| it.as_str() == text);
                named.ok_or("must be private, team, link or app")
            })?,
            team_id: params.take("team_id")?,
            ttl_seconds: params.take_in("ttl_seconds", 1..=MAX_TTL_SECONDS)?,
        })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

impl BindingQuery {
    /// Returns the document that a caller writes, and the id by which the write is recognised.
    pub(super) fn document(
        self,
        caller: &Caller,
        content: AnyContent,
    ) -> Result<(NewDocument, Option<String>), Problem> {
        let Self { chat_id, user_id, visibility, team_id, ttl_seconds } = self;
        if let Caller::User { user_id: person, team_id: team, .. } = caller {
            check_own("team_id", team_id.as_ref(), team.as_ref())?;
            check_own("user_id", user_id.as_ref(), Some(person))?;
        }
        let AnyContent { content_type, bytes, write_id } = content;
        let new = NewDocument {
            binding: StatedBinding { chat_id, user_id, visibility, team_id },
            content_type,
            content: bytes.into(),
            lifetime: ttl_seconds.map(|seconds| TimeDelta::seconds(i64::from(seconds))),
        };
        Ok((new, write_id))
    }
}

/// Refuses an id that is not the person's own.
fn check_own<T: PartialEq>(name: &str, given: Option<&T>, own: Option<&T>) -> Result<(), Problem> {
    if given.is_none() || given == own {
        return Ok(());
    }
    let detail = format!("{name} must be that of the caller, or omitted");
    Err(Problem::new(ProblemKind::FORBIDDEN_OWNER, detail))
}
