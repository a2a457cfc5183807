use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use records::JsonObject;
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::locale::Locale;
use super::model::Select;
use crate::adapters::ForeignQuery;
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{AssistantScope, FromParams, Json, Params, declared};
use crate::problem::Problem;

/// How an assistant is shown.
#[derive(Debug, IntoParams)]
#[expect(dead_code, reason = "describes the parameters")]
struct ShowParameters {
    /// The fields to show, separated by commas; by default all.
    select: Option<String>,
    /// The language of the texts. Without it they are as they are stored, to be edited.
    locale: Option<String>,
}

/// How to show the assistant.
#[derive(Debug)]
pub(crate) struct GetAssistantQuery {
    select: Select,
    is_translated: bool,
}

impl FromParams for GetAssistantQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let select = params.take_with("select", |text| Ok::<_, Infallible>(Select::of(text)))?;
        let locale =
            params.take_with("locale", |text| Ok::<_, Infallible>(!text.trim().is_empty()))?;
        let is_translated = locale.unwrap_or_default();
        Ok(Self { select: select.unwrap_or_default(), is_translated })
    }

    fn described() -> Vec<Parameter> {
        declared::<ShowParameters>()
    }
}

/// An assistant: its fields and its settings.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ShownAssistant)]
pub(crate) struct AssistantFields {
    #[serde(flatten)]
    #[schema(value_type = Object)]
    fields: JsonObject,
}

/// Returns an assistant.
#[operation(answers = "The assistant")]
pub(crate) async fn get_yao_assistant(
    State(store): State<Arc<dyn Store>>,
    AssistantScope { scope, id: assistant_id, .. }: AssistantScope<Read>,
    ForeignQuery(query): ForeignQuery<GetAssistantQuery>,
    locale: Locale,
) -> Result<Json<AssistantFields>, Problem> {
    let assistant = store.get_assistant(&scope, &assistant_id).await?;
    let assistant = assistant.ok_or(StoreError::AssistantNotFound(assistant_id))?;
    let assistant = if query.is_translated { locale.translate(assistant) } else { assistant };
    Ok(Json(AssistantFields { fields: query.select.show(assistant) }))
}
