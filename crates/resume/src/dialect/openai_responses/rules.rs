use crate::canonical::{Provider, Role};
use crate::dialect::openai::OPENAI_IMAGES;
use crate::dialect::pipeline::rules::{
    CallFields, CallIdRule, DialectRules, FileIds, MediaNames, MediaRule, MediaRules, NameRule,
    OwnFields, ResultMedia, UrlTypes, Urls,
};

/// `OpenAI` Responses.
pub(super) const OPENAI_RESPONSES: DialectRules = DialectRules {
    // API reference, "Create a model response": names of functions, and ids of at most 64 characters.
    functions: NameRule::WORD,
    call_ids: CallIdRule { max_chars: 64, ..CallIdRule::ANY },
    call_fields: CallFields::Under("openai"),
    own_fields: OwnFields::all_of("openai-responses"),
    media: MediaRules {
        // API reference: the content of an answer has texts and refusals only; an output may be a list of inputs.
        roles: &[Role::User],
        images: OPENAI_IMAGES,
        sounds: MediaRule::NONE,
        // API reference, "input_file": data, the id of an uploaded file, or the URL of one that the provider fetches. Guide "File
        // inputs": documents, spreadsheets, presentations, texts and code.
        files: MediaRule {
            types: &["application/*", "text/*", "message/rfc822"],
            urls: Urls::Fetched(&["http", "https"]),
        },
        // 400 "missing required parameter" without `filename`: openai/openai-agents-python#1513.
        names: MediaNames::Required,
        ids: FileIds::Of(Provider::OpenAi),
        results: ResultMedia::Accepted,
        error_results: ResultMedia::Accepted,
        url_types: UrlTypes::Removed,
        ..MediaRules::ANY
    },
    ..DialectRules::ANY
};
