use crate::canonical::Role;
use crate::dialect::pipeline::rules::{
    Arguments, CustomCalls, DialectRules, MediaRules, NameRule, OwnFields, ReasoningRule, UrlTypes,
};

/// The events of AG2 1.x: the configured client converts for its provider.
pub(super) const AG2_V1: DialectRules = DialectRules {
    own_fields: OwnFields { may_be_all: true, may_interrupt: true, ..OwnFields::all_of("ag2-v1") },
    functions: NameRule::WORD,
    custom_calls: CustomCalls::Converted,
    // `ToolCallEvent.arguments` is parsed as an object before a call is run.
    arguments: Arguments::Object,
    // `ModelResponse` has no reasoning.
    reasoning: ReasoningRule::Removed,
    // `ModelMessage.content` is one text.
    media: MediaRules { roles: &[Role::User], url_types: UrlTypes::Removed, ..MediaRules::ANY },
    ..DialectRules::ANY
};
