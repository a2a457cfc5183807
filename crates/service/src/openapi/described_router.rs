use axum::Router;
use axum::extract::Request;
use axum::response::IntoResponse;
use axum::routing::Route;
use tower::{Layer, Service};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::state::AppState;

/// A router that collects the description of its routes.
pub(crate) struct DescribedRouter(OpenApiRouter<AppState>);

impl DescribedRouter {
    /// Creates a router without routes, which adds to a description.
    pub(crate) fn new(description: OpenApi) -> Self {
        Self(OpenApiRouter::with_openapi(description))
    }

    /// Adds routes.
    ///
    /// In a debug build, panics if two schemas have the same name: one would silently replace the other.
    pub(crate) fn routes(mut self, routes: UtoipaMethodRouter<AppState>) -> Self {
        let known = self.0.get_openapi_mut().components.get_or_insert_default();
        for (name, schema) in &routes.0 {
            let earlier = known.schemas.entry(name.clone()).or_insert_with(|| schema.clone());
            debug_assert!(earlier == schema, "two schemas are called {name}; see #[schema(as)]");
        }
        Self(self.0.routes(routes))
    }

    pub(crate) fn route_layer<L>(self, layer: L) -> Self
    where
        L: Layer<Route> + Clone + Send + Sync + 'static,
        L::Service: Service<Request> + Clone + Send + Sync + 'static,
        <L::Service as Service<Request>>::Response: IntoResponse + 'static,
        <L::Service as Service<Request>>::Error: Into<std::convert::Infallible> + 'static,
        <L::Service as Service<Request>>::Future: Send + 'static,
    {
        Self(self.0.route_layer(layer))
    }

    /// Returns the routes, and the description.
    pub(crate) fn split_for_parts(self) -> (Router<AppState>, OpenApi) {
        self.0.split_for_parts()
    }
}
