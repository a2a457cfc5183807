use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use records::AppId;
use tower::ServiceExt as _;

use super::{Adapter, Below, OneSession, enabled};
use crate::config::AdaptersConfig;

/// Paths of other systems that name no app, and the paths below which they are served.
#[derive(Debug, Clone)]
pub(crate) struct Aliases(Arc<[Alias]>);

/// The paths of another system that begin so, and the paths below which they are served.
#[derive(Debug, Clone)]
pub(super) struct Alias {
    prefix: String,
    target: String,
}

impl Aliases {
    /// Returns the aliases of the adapters that the settings enable, as far as the API has no such paths.
    pub(crate) fn of(config: &AdaptersConfig) -> Self {
        let aliases = enabled(config).filter(|(adapter, _)| adapter.root.is_free);
        let aliases =
            aliases.filter_map(|(adapter, mount)| Some(Alias::of(adapter, mount.app_id?)));
        Self(aliases.collect())
    }

    /// Serves the aliases beside the paths of a router.
    pub(crate) fn before(self, router: Router) -> Router {
        if self.0.is_empty() {
            return router;
        }
        rewriting(router, move |uri| self.0.iter().find_map(|alias| alias.target_of(uri)))
    }
}

impl Alias {
    /// Returns the alias of an adapter for an app.
    pub(super) fn of(adapter: &Adapter, app_id: &AppId) -> Self {
        let (root, name) = (&adapter.root, adapter.name);
        let target = match root.below {
            Below::App => format!("/{name}/{app_id}{}", root.kept),
            Below::Name => format!("/{name}{}", root.kept),
        };
        Self { prefix: format!("{}{}", root.dropped, root.kept), target }
    }

    /// Returns the alias of the paths that name no session, if an adapter has such paths.
    pub(super) fn of_one_session(
        adapter: &Adapter,
        app_id: &AppId,
        config: &AdaptersConfig,
    ) -> Option<Self> {
        let OneSession { prefix, below } = adapter.one_session.as_ref()?;
        let target = format!("/{}/{app_id}{}{prefix}", adapter.name, below(config));
        Some(Self { prefix: (*prefix).to_owned(), target })
    }

    /// Returns the address that an address of the other system leads to; `None` for another address.
    pub(super) fn target_of(&self, uri: &Uri) -> Option<Uri> {
        let path = uri.path_and_query()?.as_str();
        let rest = path.strip_prefix(&self.prefix)?;
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(PathAndQuery::try_from(format!("{}{rest}", self.target)).ok()?);
        Uri::from_parts(parts).ok()
    }
}

/// Serves each request by a router under another address, if the function returns one.
pub(super) fn rewriting(
    router: Router,
    target: impl Fn(&Uri) -> Option<Uri> + Clone + Send + Sync + 'static,
) -> Router {
    let rewritten = router.map_request(move |mut request: Request| {
        if let Some(uri) = target(request.uri()) {
            *request.uri_mut() = uri;
        }
        request
    });
    Router::new().fallback_service(rewritten)
}
