use crate::dialect::pipeline::rules::{CustomCalls, DialectRules, FileIds, MediaRules, OwnFields};

/// The Agent Client Protocol.
pub(super) const ACP: DialectRules = DialectRules {
    // A plan is no part of a message.
    own_fields: OwnFields { may_be_all: true, ..OwnFields::all_of("acp") },
    custom_calls: CustomCalls::Converted,
    // Page "Prompt Turn": a thought is a chunk by itself.
    reasoning_alone: true,
    // Page "Content": blocks have data or a URI.
    media: MediaRules { ids: FileIds::Refused, ..MediaRules::ANY },
    ..DialectRules::ANY
};
