use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{DocumentFilter, Store};
use records::{ChatId, DocumentPath};
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use crate::admission::Reserve;
use crate::api::pages::{Page, PageQuery};
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{DocumentsScope, FromParams, Params, Query, declared};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::ListedDocument;

/// Which documents are meant.
#[derive(Debug, IntoParams)]
#[expect(dead_code, reason = "describes the parameters")]
struct FilterParameters {
    /// Only documents whose path begins with these names.
    #[param(value_type = Option<values::DocumentPath>)]
    namespace: Option<DocumentPath>,
    /// Only documents of this chat.
    #[param(value_type = Option<values::ChatId>)]
    chat_id: Option<ChatId>,
}

/// A filter of documents, as the parameters of a query string.
#[derive(Debug)]
pub(crate) struct FilterQuery(pub(super) DocumentFilter);

impl FromParams for FilterQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self(DocumentFilter {
            namespace: params.take("namespace")?,
            chat_id: params.take("chat_id")?,
            ..DocumentFilter::default()
        }))
    }

    fn described() -> Vec<Parameter> {
        declared::<FilterParameters>()
    }
}

#[derive(Debug, IntoParams)]
#[expect(dead_code, reason = "describes the parameters")]
struct ContentParameters {
    /// Whether to return the contents, too: of documents of at most 1 MiB.
    content: Option<bool>,
}

/// The documents to return.
#[derive(Debug)]
pub(crate) struct ListDocumentsQuery {
    filter: DocumentFilter,
    page: PageQuery<DocumentPath>,
}

impl FromParams for ListDocumentsQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let with_content = params.take("content")?.unwrap_or_default();
        let filter = FilterQuery::from_params(params, limits)?.0;
        let filter = DocumentFilter { with_content, ..filter };
        Ok(Self { filter, page: PageQuery::from_params(params, limits)? })
    }

    fn described() -> Vec<Parameter> {
        let page = declared::<PageQuery<DocumentPath>>();
        [FilterQuery::described(), declared::<ContentParameters>(), page].concat()
    }
}

/// The memory for a page, in MiB: one reply of the database, and the page as it is read and written.
const PAGE_MIB: usize = 32;

/// Lists documents by path: those of a chat, or for a user their own, those that their team shares, and those that every user of
/// the app finds; for the role `service` every document.
///
/// With `content=true` a page ends after 4 MiB of contents.
#[operation(answers = "A page of documents")]
pub(crate) async fn list_documents(
    State(store): State<Arc<dyn Store>>,
    DocumentsScope { scope, .. }: DocumentsScope<Read>,
    Query(ListDocumentsQuery { filter, page }): Query<ListDocumentsQuery>,
    _: Reserve<PAGE_MIB>,
) -> Result<Page<ListedDocument>, Problem> {
    let page = store.list_documents(&scope, &filter, page.limit, page.cursor.as_ref()).await?;
    Ok(Page::new(page.documents, page.next.as_ref()))
}
