use crate::dialect::pipeline::rules::{DialectRules, OwnFields};

/// The messages of pydantic-ai, whose models convert for their providers.
pub(super) const PYDANTIC_AI: DialectRules = DialectRules {
    own_fields: OwnFields::all_of("pydantic-ai"),
    reasoning_alone: true,
    ..DialectRules::ANY
};
