use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{DocumentFilter, Store};
use records::DocumentPath;
use serde::Serialize;
use utoipa::IntoParams;
use utoipa::ToSchema;
use utoipa::openapi::path::Parameter;

use super::list::FilterQuery;
use crate::api::pages::{Page, PageQuery};
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{DocumentsScope, FromParams, Params, Query, declared};
use crate::problem::Problem;

#[derive(Debug, IntoParams)]
#[expect(dead_code, reason = "describes the parameters")]
struct DepthParameters {
    /// How many names below the namespace those of the answer have at most, 1 by default.
    #[param(minimum = 1, maximum = 32)]
    depth: Option<usize>,
}

/// The namespaces to return.
#[derive(Debug)]
pub(crate) struct NamespacesQuery {
    filter: DocumentFilter,
    depth: usize,
    page: PageQuery<DocumentPath>,
}

impl FromParams for NamespacesQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self {
            depth: params.take_in("depth", 1..=DocumentPath::MAX_NAMES)?.unwrap_or(1),
            filter: FilterQuery::from_params(params, limits)?.0,
            page: PageQuery::from_params(params, limits)?,
        })
    }

    fn described() -> Vec<Parameter> {
        let page = declared::<PageQuery<DocumentPath>>();
        [FilterQuery::described(), declared::<DepthParameters>(), page].concat()
    }
}

/// A namespace that has documents.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Namespace {
    #[schema(example = "notes")]
    namespace: String,
}

impl From<DocumentPath> for Namespace {
    fn from(path: DocumentPath) -> Self {
        Self { namespace: path.into() }
    }
}

/// Lists the namespaces of documents, of those that `GET /api/documents/{app_id}` lists with the same filter.
///
/// A page has each namespace once; a later page may have it again. A page ends early after 10,000 documents.
#[operation(answers = "A page of namespaces")]
pub(crate) async fn list_document_namespaces(
    State(store): State<Arc<dyn Store>>,
    DocumentsScope { scope, .. }: DocumentsScope<Read>,
    Query(NamespacesQuery { filter, depth, page }): Query<NamespacesQuery>,
) -> Result<Page<Namespace>, Problem> {
    let PageQuery { limit, cursor } = page;
    let page = store.list_namespaces(&scope, &filter, depth, limit, cursor.as_ref()).await?;
    Ok(Page::new(page.namespaces, page.next.as_ref()))
}
