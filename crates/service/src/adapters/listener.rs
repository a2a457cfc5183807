use std::iter;
use std::net::SocketAddr;

use axum::Router;
use axum::http::Uri;

use super::aliases::{Alias, rewriting};
use super::{Adapter, enabled};
use crate::config::Config;

/// A listener that serves one adapter, under the paths that its clients know.
#[derive(Debug, Clone)]
pub struct AdapterListener {
    adapter: &'static Adapter,
    address: SocketAddr,
    aliases: Vec<Alias>,
}

impl Config {
    /// Returns the listeners of the adapters that the settings enable. They share everything with the listener of the API
    /// but their addresses.
    pub fn adapter_listeners(&self) -> Vec<AdapterListener> {
        let listeners = enabled(&self.adapters).filter_map(|(adapter, mount)| {
            let app_id = mount.app_id?;
            let of_one_session = Alias::of_one_session(adapter, app_id, &self.adapters);
            let aliases = iter::once(Alias::of(adapter, app_id)).chain(of_one_session).collect();
            Some(AdapterListener { adapter, address: mount.listen?, aliases })
        });
        listeners.collect()
    }
}

impl AdapterListener {
    /// Returns the name of the adapter.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.adapter.name
    }

    /// Returns the address to listen on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves the paths of the adapter, and its description, by the router of the whole API. No other path is found.
    pub fn router(&self, api: Router) -> Router {
        let listener = self.clone();
        rewriting(api, move |uri| Some(listener.target_of(uri)))
    }

    fn target_of(&self, uri: &Uri) -> Uri {
        let served = self.aliases.iter().find_map(|alias| alias.target_of(uri));
        served.unwrap_or_else(|| match uri.path() {
            "/openapi.json" => path_only(self.adapter.description_path()),
            // No route has this path, so the adapter answers that there is none.
            _ => path_only(format!("/{}/", self.adapter.name)),
        })
    }
}

fn path_only(path: String) -> Uri {
    // The paths are made of names of adapters, so each is valid.
    Uri::try_from(path).unwrap_or_default()
}
