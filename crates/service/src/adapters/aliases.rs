use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use tower::ServiceExt as _;

use crate::config::AdaptersConfig;

/// Paths of other systems that name no app, and the paths below which they are served.
#[derive(Debug, Clone)]
pub(crate) struct Aliases(Arc<[Alias]>);

#[derive(Debug)]
struct Alias {
    prefix: &'static str,
    target: String,
}

impl Aliases {
    /// Returns the aliases of the adapters that the settings enable.
    pub(crate) fn of(config: &AdaptersConfig) -> Self {
        let hecate = config.hecate.app_id.as_ref().filter(|_| config.hecate.enabled);
        let hecate = hecate
            .map(|app_id| Alias { prefix: "/hecate/v1/", target: format!("/hecate/{app_id}/v1/") });
        let yao = config.yao.app_id.as_ref().filter(|_| config.yao.enabled);
        let yao = yao
            .map(|app_id| Alias { prefix: "/v1/chat/", target: format!("/yao/{app_id}/v1/chat/") });
        Self(hecate.into_iter().chain(yao).collect())
    }

    /// Serves the aliases beside the paths of a router.
    pub(crate) fn before(self, router: Router) -> Router {
        if self.0.is_empty() {
            return router;
        }
        let aliased = router.map_request(move |mut request: Request| {
            if let Some(uri) = self.target(request.uri()) {
                *request.uri_mut() = uri;
            }
            request
        });
        Router::new().fallback_service(aliased)
    }

    /// Returns the address that an alias leads to.
    fn target(&self, uri: &Uri) -> Option<Uri> {
        let path = uri.path_and_query()?.as_str();
        let (alias, rest) =
            self.0.iter().find_map(|alias| Some((alias, path.strip_prefix(alias.prefix)?)))?;
        let mut parts = uri.clone().into_parts();
        parts.path_and_query =
            Some(PathAndQuery::try_from(format!("{}{rest}", alias.target)).ok()?);
        Uri::from_parts(parts).ok()
    }
}
