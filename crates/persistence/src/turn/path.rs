//! Positions in a message, by paths like `content.0.text`.

use records::{JsonObject, Limits, MessageBody};
use serde_json::Value;

/// The reason why a path cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathError {
    /// The path does not exist.
    NotFound,
    /// The value at the path is not text.
    NotText,
}

/// Returns the value at a path. Creates missing values on the way.
pub(super) fn place<'a>(body: &'a mut MessageBody, path: &str) -> Result<&'a mut Value, PathError> {
    // Each name may create a level. The limit is checked first, because a value that is nested too
    // deeply could not be checked afterwards.
    if path.split('.').count() > Limits::NESTING {
        return Err(PathError::NotFound);
    }
    let mut names = path.split('.');
    let root = match names.next() {
        Some("content") => &mut body.content,
        Some("metadata") => {
            let name = names.next().ok_or(PathError::NotFound)?;
            let metadata = body.metadata.get_or_insert_with(JsonObject::new);
            metadata.entry(name).or_insert(Value::Null)
        }
        Some(name) if MessageBody::free_extra().any(|free| free == name) => {
            body.extra.entry(name).or_insert(Value::Null)
        }
        _ => return Err(PathError::NotFound),
    };
    names.try_fold(root, |place, name| step(place, name).ok_or(PathError::NotFound))
}

fn step<'a>(place: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    if place.is_null() {
        let is_index = name.parse::<usize>().is_ok();
        *place = if is_index { Value::Array(Vec::new()) } else { Value::Object(JsonObject::new()) };
    }
    match place {
        Value::Object(object) => Some(object.entry(name).or_insert(Value::Null)),
        Value::Array(items) => {
            let index = name.parse::<usize>().ok()?;
            if index == items.len() {
                items.push(Value::Null);
            }
            items.get_mut(index)
        }
        _ => None,
    }
}
