use crate::canonical::{Provider, Role};
use crate::dialect::pipeline::rules::{
    Arguments, CallFields, CustomCalls, DialectRules, FileIds, MediaRules, OwnFields, ResultMedia,
    Thoughts,
};

/// Google's Agent Development Kit, whose models convert for their providers.
pub(super) const GOOGLE_ADK: DialectRules = DialectRules {
    custom_calls: CustomCalls::Converted,
    // `google.genai.types.FunctionCall.args` is a dictionary.
    arguments: Arguments::Object,
    // `google.genai.types.Part.thought_signature`.
    call_fields: CallFields::GeminiSignatures,
    // An event may have only actions.
    own_fields: OwnFields {
        may_be_all: true,
        thoughts: Thoughts::Kept,
        ..OwnFields::all_of("google-adk")
    },
    media: MediaRules {
        // `LlmAgent.instruction` is a text.
        roles: &[Role::User, Role::Assistant],
        // `google.genai.types.FileData` has a URI, also one of the Files API of Gemini.
        ids: FileIds::Of(Provider::Gemini),
        // `google.genai.types.FunctionResponsePart` has the same media.
        results: ResultMedia::Accepted,
        error_results: ResultMedia::Accepted,
        ..MediaRules::ANY
    },
    ..DialectRules::ANY
};
