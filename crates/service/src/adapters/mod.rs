//! Other systems on the same store: their clients call the service in the shapes that they know.
//!
//! An adapter has no storage and no state of its own. It is a table of operations like that of the API, below
//! `/{adapter}/{app_id}`; each turns one foreign request into calls of the store, and records into foreign shapes. Rights,
//! quotas, limits and metrics are those of the API. Errors have the form of the original.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::StatusCode;
use serde_json::Value;

use crate::config::AdaptersConfig;
use crate::openapi::Document;
use crate::operations::Section;
use crate::problem::Problem;

mod aliases;
mod foreign_query;
mod hecate;
mod yao;

pub(crate) use aliases::Aliases;
pub(crate) use foreign_query::ForeignQuery;

/// A system whose clients are served.
pub(crate) struct Adapter {
    /// The first segment of its paths.
    pub(crate) name: &'static str,
    /// The title of its description.
    title: &'static str,
    /// Its operations.
    pub(crate) sections: Vec<Section>,
    /// Writes a problem as the original does.
    write_problem: WriteProblem,
    /// The schema of what it writes.
    error_schema: fn() -> Value,
}

/// Returns the status and the body of a problem in the form of another system.
pub(crate) type WriteProblem = fn(&Problem) -> (StatusCode, Value);

/// Every adapter.
static ADAPTERS: LazyLock<Vec<Adapter>> = LazyLock::new(|| vec![hecate::adapter(), yao::adapter()]);

impl Adapter {
    fn is_enabled(&self, config: &AdaptersConfig) -> bool {
        match self.name {
            "hecate" => config.hecate.enabled,
            "yao" => config.yao.enabled,
            _ => false,
        }
    }

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

/// Returns the adapters that the settings enable.
pub(crate) fn enabled(config: &AdaptersConfig) -> impl Iterator<Item = &'static Adapter> {
    ADAPTERS.iter().filter(move |adapter| adapter.is_enabled(config))
}

/// Returns how problems are written below a path, if that is not a path of the API.
pub(crate) fn problem_writer(path: &str) -> Option<WriteProblem> {
    let (name, _) = path.strip_prefix('/')?.split_once('/')?;
    let adapter = ADAPTERS.iter().find(|adapter| adapter.name == name)?;
    Some(adapter.write_problem)
}
