use bson::{Bson, doc};

/// Returns the condition for a field that has one of these values.
///
/// One value is asked for by itself: it lets the server use more indexes in their order.
pub(crate) fn one_of(values: Vec<String>) -> Bson {
    match <[String; 1]>::try_from(values) {
        Ok([only]) => only.into(),
        Err(several) => doc! { "$in": several }.into(),
    }
}
