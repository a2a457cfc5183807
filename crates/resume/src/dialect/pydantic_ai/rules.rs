use crate::dialect::pipeline::rules::{CallFields, DialectRules, OwnFields};

/// The messages of pydantic-ai, whose models convert for their providers.
pub(super) const PYDANTIC_AI: DialectRules = DialectRules {
    // A response may be empty, and a run without a prompt begins with a request without parts.
    own_fields: OwnFields {
        may_be_all: true,
        has_call_places: true,
        ..OwnFields::all_of("pydantic-ai")
    },
    // `GoogleModel` has them in `provider_details`.
    call_fields: CallFields::GeminiSignatures,
    reasoning_alone: true,
    ..DialectRules::ANY
};
