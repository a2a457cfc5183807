use crate::dialect::pipeline::rules::{CallFields, CallIdRule, DialectRules, NameRule, OwnFields};

/// `OpenAI` Responses.
pub(super) const OPENAI_RESPONSES: DialectRules = DialectRules {
    // API reference, "Create a model response": names of functions, and ids of at most 64 characters.
    functions: NameRule::WORD,
    call_ids: CallIdRule { max_chars: 64, ..CallIdRule::ANY },
    call_fields: CallFields::Under("openai"),
    own_fields: OwnFields::all_of("openai-responses"),
    ..DialectRules::ANY
};
