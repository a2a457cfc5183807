//! What libraries write besides what a dialect describes.

use serde_json::{Map, Value};

/// Leaves out the fields of each message that are null, except its content.
pub(super) fn without_null_fields(messages: &mut [Value]) {
    for message in messages.iter_mut().filter_map(Value::as_object_mut) {
        message.retain(|field, value| field == "content" || !value.is_null());
    }
}

/// Leaves out the fields that are null of each item of a list in each message.
pub(super) fn without_null_fields_of(list: &str, messages: &mut [Value]) {
    for item in items_of(list, messages) {
        item.retain(|_, value| !value.is_null());
    }
}

/// Returns the objects of a list in each message.
pub(super) fn items_of<'a>(
    list: &'a str,
    messages: &'a mut [Value],
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let lists =
        messages.iter_mut().filter_map(move |message| message.get_mut(list)?.as_array_mut());
    lists.flatten().filter_map(Value::as_object_mut)
}

/// Gives a field another name, unless the object has a field with that name.
pub(super) fn rename(object: &mut Map<String, Value>, from: &str, to: &str) {
    if !object.contains_key(to)
        && let Some(value) = object.shift_remove(from)
    {
        object.insert(to.to_owned(), value);
    }
}
