use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{AssistantCursor, AssistantFilter, AssistantPage, Store};
use records::{AssistantId, UserId};
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use super::get::LocaleQuery;
use crate::admission::Reserve;
use crate::api::pages::{Page, PageQuery};
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{AssistantsScope, FromParams, Params, Query, declared};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::AssistantResponse;

/// The most values of a filter.
const MAX_VALUES: usize = 100;

/// Which assistants are meant.
#[derive(Debug, IntoParams)]
#[expect(dead_code, reason = "describes the parameters")]
struct FilterParameters {
    /// Only these assistants, at most 100 ids, separated by commas.
    ids: Option<String>,
    /// Only assistants that belong to this user.
    #[param(value_type = Option<values::Name>)]
    user_id: Option<UserId>,
    /// Only assistants with one of these tags, at most 100, separated by commas.
    tags: Option<String>,
    /// Only assistants of one of these types, at most 100, separated by commas.
    #[param(rename = "type")]
    kind: Option<String>,
    /// Only assistants with this connector.
    connector: Option<String>,
    /// Only assistants that may be mentioned, or only others.
    mentionable: Option<bool>,
    /// Only assistants that run without a person, or only others.
    automated: Option<bool>,
    /// Only assistants that come with the app, or only others.
    built_in: Option<bool>,
    /// Only assistants whose name or description, in any language, has these characters in a row, in any case.
    q: Option<String>,
}

/// A filter of assistants, as the parameters of a query string.
#[derive(Debug)]
pub(crate) struct FilterQuery(pub(crate) AssistantFilter);

impl FromParams for FilterQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let ids = params.take_with("ids", |text| {
            values(text)?
                .into_iter()
                .map(|id| AssistantId::parse(id).map_err(|e| e.to_string()))
                .collect()
        })?;
        Ok(Self(AssistantFilter {
            ids: ids.unwrap_or_default(),
            user_id: params.take("user_id")?,
            tags: params.take_with("tags", values)?.unwrap_or_default(),
            kinds: params.take_with("type", values)?.unwrap_or_default(),
            connector: params.take("connector")?,
            mentionable: params.take("mentionable")?,
            automated: params.take("automated")?,
            built_in: params.take("built_in")?,
            text: params.take("q")?,
        }))
    }

    fn described() -> Vec<Parameter> {
        declared::<FilterParameters>()
    }
}

/// Reads values that are separated by commas.
fn values(text: &str) -> Result<Vec<String>, String> {
    let values: Vec<String> = text.split(',').map(|value| value.trim().to_owned()).collect();
    if values.len() > MAX_VALUES || values.iter().any(String::is_empty) {
        return Err(format!("must be 1 to {MAX_VALUES} values, separated by commas"));
    }
    Ok(values)
}

/// The assistants to return.
#[derive(Debug)]
pub(crate) struct ListAssistantsQuery {
    filter: AssistantFilter,
    locale: LocaleQuery,
    page: PageQuery<AssistantCursor>,
}

impl FromParams for ListAssistantsQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self {
            filter: FilterQuery::from_params(params, limits)?.0,
            locale: LocaleQuery::from_params(params, limits)?,
            page: PageQuery::from_params(params, limits)?,
        })
    }

    fn described() -> Vec<Parameter> {
        let mut parameters = FilterQuery::described();
        parameters.extend(LocaleQuery::described());
        parameters.extend(declared::<PageQuery<AssistantCursor>>());
        parameters
    }
}

/// The memory for a page, in MiB: one reply of the database, and four times the bytes at which a page ends.
pub(crate) const PAGE_MIB: usize = 16 + ((4 * AssistantPage::BYTES) >> 20);

/// Lists assistants by `sort` and then by id: for a user their own, those that their team shares, and those that every user of
/// the app finds; for the role `service` every assistant.
///
/// A page of large assistants ends early, and so does one that has examined 10,000 of them for `q`: it may be empty, with a
/// `next_cursor`.
#[operation(answers = "A page of assistants")]
pub(crate) async fn list_assistants(
    State(store): State<Arc<dyn Store>>,
    AssistantsScope { scope, .. }: AssistantsScope<Read>,
    Query(query): Query<ListAssistantsQuery>,
    _: Reserve<PAGE_MIB>,
) -> Result<Page<AssistantResponse>, Problem> {
    let ListAssistantsQuery { filter, locale, page } = query;
    let page = store.list_assistants(&scope, &filter, page.limit, page.cursor.as_ref()).await?;
    let assistants = page.assistants.into_iter().map(|assistant| locale.of(assistant));
    Ok(Page::new(assistants, page.next.as_ref()))
}
