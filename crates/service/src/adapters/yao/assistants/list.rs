use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{AssistantFilter, AssistantPage, Store};
use records::{JsonObject, Scope};
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::filter::{filter_of, of_default_kind};
use super::locale::Locale;
use super::model::Select;
use crate::adapters::ForeignQuery;
use crate::adapters::yao::page::NumberedPage;
use crate::admission::Reserve;
use crate::api::assistants::list::PAGE_MIB;
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{AssistantsScope, FromParams, Json, Params, declared};
use crate::problem::Problem;

/// How many assistants are read at a time.
const READ_AT_ONCE: usize = 200;
/// The most assistants that one request examines.
const MAX_EXAMINED: usize = AssistantPage::EXAMINED;

/// The filter of assistants. Words that are no booleans are ignored.
#[derive(Debug, IntoParams)]
#[expect(dead_code, reason = "describes the parameters")]
pub(super) struct FilterParameters {
    /// Only assistants whose name or description has these characters in a row, in any case and any language.
    keywords: Option<String>,
    /// Only assistants of this type; `assistant` by default, but not for a deletion.
    #[param(rename = "type")]
    kind: Option<String>,
    /// Only assistants of one of these types, separated by commas.
    types: Option<String>,
    /// Only assistants with this connector.
    connector: Option<String>,
    /// Only this assistant.
    assistant_id: Option<String>,
    /// Only these assistants, at most 100, separated by commas.
    assistant_ids: Option<String>,
    /// Only assistants with one of these tags, separated by commas.
    tags: Option<String>,
    /// Only assistants that may be mentioned, or only others.
    mentionable: Option<bool>,
    /// Only assistants that run without a person, or only others.
    automated: Option<bool>,
    /// Only assistants that come with the app, or only others.
    built_in: Option<bool>,
}

/// The page of a list, its fields and its language. Values that are no numbers are ignored.
#[derive(Debug, IntoParams)]
#[expect(dead_code, reason = "describes the parameters")]
struct PageParameters {
    /// The page, 1 by default. Assistants after the first 10,000 are not served.
    page: Option<usize>,
    /// The most assistants of a page, 1 to 100; 20 for any other value.
    pagesize: Option<usize>,
    /// The fields to show, separated by commas; by default all but the settings of runs.
    select: Option<String>,
    /// The language of names, descriptions, tags and placeholders; by default the first of `Accept-Language`.
    locale: Option<String>,
}

/// The assistants to return.
#[derive(Debug)]
pub(crate) struct ListAssistantsQuery {
    page: NumberedPage,
    select: Select,
    filter: AssistantFilter,
}

impl FromParams for ListAssistantsQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let page = NumberedPage::from_params(params, MAX_EXAMINED, "assistants")?;
        let select = params.take_with("select", |text| Ok::<_, Infallible>(Select::of(text)))?;
        let filter = of_default_kind(filter_of(params)?);
        Ok(Self { page, select: select.unwrap_or_default(), filter })
    }

    fn described() -> Vec<Parameter> {
        let mut parameters = declared::<PageParameters>();
        parameters.extend(declared::<FilterParameters>());
        parameters
    }
}

/// A page of assistants.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AssistantList)]
pub(crate) struct ListAssistantsResponse {
    #[schema(value_type = Vec<Object>)]
    data: Vec<JsonObject>,
    #[schema(example = 1)]
    page: usize,
    #[schema(example = 20)]
    pagesize: usize,
    /// At least 1.
    #[schema(example = 1)]
    pagecount: usize,
    /// The next page; 0 if there is none.
    #[schema(example = 0)]
    next: usize,
    /// The page before; 0 if there is none.
    #[schema(example = 0)]
    prev: usize,
    #[schema(example = 3)]
    total: usize,
    /// Whether there may be more assistants than `total`: the request examined as many as one may. Missing if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    total_is_at_least: bool,
    /// Whether assistants of the page are missing, because a page ends at 4 MiB. Missing if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// Lists assistants by `sort` and then by id: those of the caller, those that their team shares, and the public ones.
#[operation(answers = "A page of assistants")]
pub(crate) async fn list_yao_assistants(
    State(store): State<Arc<dyn Store>>,
    AssistantsScope { scope, .. }: AssistantsScope<Read>,
    ForeignQuery(query): ForeignQuery<ListAssistantsQuery>,
    locale: Locale,
    _: Reserve<PAGE_MIB>,
) -> Result<Json<ListAssistantsResponse>, Problem> {
    let ListAssistantsQuery { page, select, filter } = query;
    let show = |assistant| select.show_in_list(locale.translate(assistant));
    let found = Found::read(&*store, &scope, &filter, page.positions(), &show).await?;
    let pagecount = page.count(found.total);
    let NumberedPage { page, pagesize } = page;
    Ok(Json(ListAssistantsResponse {
        data: found.shown,
        page,
        pagesize,
        pagecount,
        next: if page < pagecount { page + 1 } else { 0 },
        prev: page - 1,
        total: found.total,
        total_is_at_least: found.is_at_least,
        truncated: found.is_truncated,
    }))
}

/// The assistants at some positions of a list, and how many it has.
#[derive(Debug, Default)]
struct Found {
    shown: Vec<JsonObject>,
    total: usize,
    is_at_least: bool,
    is_truncated: bool,
    bytes: usize,
}

impl Found {
    async fn read(
        store: &dyn Store,
        scope: &Scope,
        filter: &AssistantFilter,
        positions: Range<usize>,
        show: &(dyn Fn(records::Assistant) -> JsonObject + Sync),
    ) -> Result<Self, Problem> {
        let (mut found, mut after) = (Self::default(), None);
        loop {
            let page = store.list_assistants(scope, filter, READ_AT_ONCE, after.as_ref()).await?;
            // A page without any has examined as many as one may.
            let is_exhausted = page.assistants.is_empty();
            for assistant in page.assistants {
                if positions.contains(&found.total) {
                    found.add(assistant.content.bytes(), || show(assistant));
                }
                found.total += 1;
            }
            after = page.next;
            if after.is_none() {
                return Ok(found);
            }
            if is_exhausted || found.total >= MAX_EXAMINED {
                found.is_at_least = true;
                return Ok(found);
            }
        }
    }

    /// Shows an assistant, while there is room.
    fn add(&mut self, bytes: usize, show: impl FnOnce() -> JsonObject) {
        self.bytes += bytes;
        if self.bytes > AssistantPage::BYTES && !self.shown.is_empty() {
            self.is_truncated = true;
        } else {
            self.shown.push(show());
        }
    }
}
