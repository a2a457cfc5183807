//! Other systems on the same store: their clients call the service in the shapes that they know.
//!
//! An adapter has no storage and no state of its own. It is a table of operations like that of the API, mostly below
//! `/{adapter}/{app_id}`; each turns one foreign request into calls of the store, and records into foreign shapes. Rights,
//! quotas, limits and metrics are those of the API. Errors have the form of the original.

use std::fmt;
use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::StatusCode;
use serde_json::Value;

use crate::config::{AdaptersConfig, Mount};
use crate::openapi::Document;
use crate::operations::Section;
use crate::problem::Problem;

mod aliases;
mod chatsg;
mod discobot;
mod foreign_query;
mod given_time;
mod hecate;
mod list_text;
mod listener;
mod mozaiks;
mod new_session;
mod offset_pages;
mod range;
mod said_fields;
mod sent_fields;
mod workflow_name;
mod yao;

pub(crate) use aliases::Aliases;
pub(crate) use foreign_query::ForeignQuery;
pub use listener::AdapterListener;

/// A system whose clients are served.
pub(crate) struct Adapter {
    /// The first segment of its paths.
    pub(crate) name: &'static str,
    /// The paths of the original.
    root: Root,
    /// Paths of the original that name no session either, because it had one.
    one_session: Option<OneSession>,
    /// The cookies in which pages of the original keep their token.
    token_cookies: &'static [&'static str],
    /// The title of its description.
    title: &'static str,
    /// Its operations.
    pub(crate) sections: Vec<Section>,
    /// Writes a problem as the original does.
    write_problem: WriteProblem,
    /// The schema of what it writes.
    error_schema: fn() -> Value,
}

/// Where the paths of an original begin: with `dropped`, and then with what a path here has after its beginning.
#[derive(Debug)]
struct Root {
    dropped: &'static str,
    kept: &'static str,
    /// What the paths here begin with.
    below: Below,
    /// Whether the API has no paths that begin so: then its listener serves them, too.
    is_free: bool,
}

/// What the paths of an adapter begin with.
#[derive(Debug, Clone, Copy)]
enum Below {
    /// Its name and the app, which the paths of the original do not name.
    App,
    /// Its name alone: the paths of the original name the app themselves.
    Name,
}

/// Paths that begin so, which only the listener of an adapter serves.
#[derive(Debug)]
struct OneSession {
    prefix: &'static str,
    /// Returns the path of the session below which they are served.
    below: fn(&AdaptersConfig) -> String,
}

/// Returns the status and the body of a problem in the form of another system. The path is that of the request.
pub(crate) type WriteProblem = fn(&Problem, &str) -> (StatusCode, Value);

/// Every adapter.
static ADAPTERS: LazyLock<Vec<Adapter>> = LazyLock::new(|| {
    vec![
        chatsg::adapter(),
        discobot::adapter(),
        hecate::adapter(),
        mozaiks::adapter(),
        yao::adapter(),
    ]
});

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adapter").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Adapter {
    /// Returns the path of its description.
    pub(crate) fn description_path(&self) -> String {
        format!("/{}/openapi.json", self.name)
    }

    /// Returns its description, as JSON.
    pub(crate) fn description(&self) -> Bytes {
        let mut document = Document::titled(self.title);
        document.sections(&self.sections);
        document.with_errors_as(self.error_schema)
    }
}

/// Returns the adapters that the settings enable, and where they are served.
pub(crate) fn enabled(
    config: &AdaptersConfig,
) -> impl Iterator<Item = (&'static Adapter, Mount<'_>)> {
    config.mounts().into_iter().filter(|mount| mount.enabled).filter_map(|mount| {
        Some((ADAPTERS.iter().find(|adapter| adapter.name == mount.name)?, mount))
    })
}

/// Returns how problems are written below a path, if that is not a path of the API.
pub(crate) fn problem_writer(path: &str) -> Option<WriteProblem> {
    of_path(path).map(|adapter| adapter.write_problem)
}

/// Returns the cookies that may hold the token of a request to a path.
pub(crate) fn token_cookies(path: &str) -> &'static [&'static str] {
    of_path(path).map_or(&[], |adapter| adapter.token_cookies)
}

fn of_path(path: &str) -> Option<&'static Adapter> {
    let (name, _) = path.strip_prefix('/')?.split_once('/')?;
    ADAPTERS.iter().find(|adapter| adapter.name == name)
}
