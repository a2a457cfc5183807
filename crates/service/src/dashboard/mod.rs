//! The dashboard: one page for people, of plain files that are part of the binary.
//!
//! The files hold no data. What the page shows it asks of the API, with its reader's token.

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::problem::{Problem, ProblemKind};

mod files;
use files::{File, PAGE};

/// Nothing may run, be loaded or be called but what this service serves.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page, and the files it loads.
pub(crate) fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    Router::new()
        .route("/dashboard", get(async || PAGE))
        // What the page loads is named relative to it, so it has one address.
        .route("/dashboard/", get(async || Redirect::permanent("../dashboard")))
        .route("/dashboard/{*file}", get(file))
        .layer(header(header::CONTENT_SECURITY_POLICY, POLICY))
        .layer(header(header::REFERRER_POLICY, "no-referrer"))
}

async fn file(Path(name): Path<String>) -> Result<impl IntoResponse, Problem> {
    let file = files::find(&name);
    file.ok_or_else(|| Problem::new(ProblemKind::NO_SUCH_ROUTE, "there is nothing here"))
}

impl IntoResponse for File {
    fn into_response(self) -> axum::response::Response {
        ([(header::CONTENT_TYPE, self.content_type)], self.text).into_response()
    }
}

fn header(name: HeaderName, value: &'static str) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value))
}
