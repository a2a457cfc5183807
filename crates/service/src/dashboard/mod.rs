//! The dashboard: a page for people, made of static files that are compiled into the binary.
//!
//! The files hold no data. The page requests everything it shows from the API, with the user's token.

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use records::{AppId, ChatId};
use tower_http::set_header::SetResponseHeaderLayer;

use crate::problem::{Problem, ProblemKind};

mod files;
use files::{File, PAGE};

/// The content security policy: the page may load and call only this service. Pictures may also be part of the
/// page itself, because messages hold some as `data:` addresses, which load nothing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the routes of the page and of the files it loads.
pub(crate) fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    Router::new()
        // Where a person arrives who knows the host alone.
        .route("/", get(async || Redirect::temporary("dashboard")))
        .route("/dashboard", get(async || PAGE))
        // The page loads its files by relative paths, so it must have exactly one address.
        .route("/dashboard/", get(async || Redirect::permanent("../dashboard")))
        .route("/dashboard/{*file}", get(file))
        .route("/chat/{app_id}/{chat_id}", get(chat))
        .layer(header(header::CONTENT_SECURITY_POLICY, POLICY))
        .layer(header(header::REFERRER_POLICY, "no-referrer"))
}

/// Leads from the short address of a chat to its view. Whether the chat is there is for the page to say.
async fn chat(Path((app_id, chat_id)): Path<(String, String)>) -> Result<Redirect, Problem> {
    let ids = AppId::parse(app_id).ok().zip(ChatId::parse(chat_id).ok());
    let (app_id, chat_id) =
        ids.ok_or_else(|| Problem::new(ProblemKind::NO_SUCH_ROUTE, "no chat has such an address"))?;
    Ok(Redirect::temporary(&format!("../../dashboard#/apps/{app_id}/chats/{chat_id}")))
}

async fn file(Path(name): Path<String>) -> Result<impl IntoResponse, Problem> {
    let file = files::find(&name);
    file.ok_or_else(|| Problem::new(ProblemKind::NO_SUCH_ROUTE, "the dashboard has no such file"))
}

impl IntoResponse for File {
    fn into_response(self) -> axum::response::Response {
        ([(header::CONTENT_TYPE, self.content_type)], self.text).into_response()
    }
}

fn header(name: HeaderName, value: &'static str) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value))
}
