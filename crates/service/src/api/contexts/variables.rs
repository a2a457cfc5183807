use std::borrow::Cow;

use records::JsonObject;
use serde::Deserialize;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::extract::Keyed;
use crate::openapi::values;

/// The variables of a snapshot, as a body.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Variables(pub(super) JsonObject);

impl Keyed for Variables {}

impl PartialSchema for Variables {
    fn schema() -> RefOr<Schema> {
        values::Variables::schema()
    }
}

impl ToSchema for Variables {
    fn name() -> Cow<'static, str> {
        values::Variables::name()
    }
}
