use crate::canonical::Role;
use crate::dialect::pipeline::rules::{CustomCalls, DialectRules, MediaNames, MediaRules};

/// OpenTelemetry's semantic conventions for generative AI, schema of `gen_ai.input.messages`.
pub(super) const OTEL_GENAI: DialectRules = DialectRules {
    custom_calls: CustomCalls::Converted,
    media: MediaRules {
        // Schema of `gen_ai.system_instructions`: a text part, or one of an unknown type.
        roles: &[Role::User, Role::Assistant],
        // Schema, "BlobPart": it has no name.
        names: MediaNames::Refused,
        // Schema, "ToolCallResponsePart": the response is any value.
        ..MediaRules::ANY
    },
    // Pages show it; a model that was stopped while it thought has said nothing else.
    reasoning_alone: true,
    ..DialectRules::ANY
};
