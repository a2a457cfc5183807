use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use records::Assistant;
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use super::tagged;
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{AssistantScope, FromParams, Json, Params, Query, Tagged, declared};
use crate::problem::Problem;
use crate::wire::AssistantResponse;

/// The language in which assistants are returned.
#[derive(Debug, Default, IntoParams)]
pub(crate) struct LocaleQuery {
    /// A language tag, such as `de-AT`: the name, the description and the tags are those of `locales` for this tag, or else for
    /// its language, or else as they are. In each of them `{{key}}` stands for the text of that key.
    #[param(example = "de-AT")]
    locale: Option<String>,
}

impl FromParams for LocaleQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { locale: params.take("locale")? })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

impl LocaleQuery {
    /// Returns an assistant in the language.
    pub(crate) fn of(&self, assistant: Assistant) -> Assistant {
        let Some(tag) = &self.locale else { return assistant };
        Assistant { content: assistant.content.in_locale(tag), ..assistant }
    }
}

/// Returns an assistant.
#[operation(answers = "The assistant")]
pub(crate) async fn get_assistant(
    State(store): State<Arc<dyn Store>>,
    AssistantScope { scope, id: assistant_id, .. }: AssistantScope<Read>,
    Query(locale): Query<LocaleQuery>,
) -> Result<Tagged<Json<AssistantResponse>>, Problem> {
    let assistant = store.get_assistant(&scope, &assistant_id).await?;
    let assistant = assistant.ok_or(StoreError::AssistantNotFound(assistant_id))?;
    Ok(tagged(locale.of(assistant)))
}
