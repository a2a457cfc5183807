//! Checks that several validators share.
//!
//! The renderer has rules of its own: a mistake in them would pass its own check.

use serde_json::Value;

use crate::dialect::violation::Problem;
use crate::dropped::shorten;

/// Returns whether a provider fetches what is at a URL.
///
/// The scheme is one of the given ones, and the path does not name an SVG drawing, which no provider
/// reads.
pub(super) fn is_fetched(url: &str, schemes: &[&str]) -> bool {
    let lower = url.to_lowercase();
    let path = lower.split(['?', '#']).next().unwrap_or_default();
    let is_known = |scheme: &&str| path.starts_with(&format!("{scheme}://"));
    let drawings = [".svg", ".svgz"];
    schemes.iter().any(is_known) && !drawings.iter().any(|ending| path.ends_with(*ending))
}

/// Returns whether the name of a speaker or a function matches `^[a-zA-Z0-9_-]{1,64}$`.
pub(super) fn is_name(value: &Value) -> bool {
    let Some(name) = value.as_str() else {
        return false;
    };
    let outside = |byte: u8| !(byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    !name.is_empty() && name.len() <= 64 && !name.bytes().any(outside)
}

/// Returns the problem of a name that a function has, and that a rendering changes.
pub(super) fn name_problem(function: &Value) -> Option<Problem> {
    let name = function["name"].as_str().filter(|name| !name.is_empty())?;
    let detail =
        || format!("the name of a function does not match ^[a-zA-Z0-9_-]{{1,64}}$: {name}");
    (!is_name(&function["name"])).then(|| ("invalid_name", shorten(&detail())))
}

/// Returns whether the arguments of a call are the text of a JSON object.
pub(super) fn holds_object(arguments: &Value) -> bool {
    let read = arguments.as_str().map(serde_json::from_str::<Value>);
    read.is_some_and(|read| read.is_ok_and(|value| value.is_object()))
}
