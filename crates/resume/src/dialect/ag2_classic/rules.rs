use crate::dialect::openai::OPENAI_IMAGES;
use crate::dialect::pipeline::rules::{
    Arguments, CallIdRule, CustomCalls, DialectRules, FileIds, MediaRule, MediaRules, NameRule,
    ResultNames, TextFiles, UrlTypes,
};

/// AG2 up to 0.14, which sends the messages to interfaces like that of `OpenAI`.
pub(super) const AG2_CLASSIC: DialectRules = DialectRules {
    functions: NameRule::WORD,
    call_ids: CallIdRule::SHORT,
    max_calls: 128,
    custom_calls: CustomCalls::Converted,
    arguments: Arguments::Object,
    result_names: ResultNames::Executors,
    media: MediaRules {
        // `code_utils.content_str` knows text and images only.
        images: OPENAI_IMAGES,
        sounds: MediaRule::NONE,
        files: MediaRule::NONE,
        text_files: TextFiles::Refused,
        ids: FileIds::Refused,
        url_types: UrlTypes::Removed,
        ..MediaRules::ANY
    },
    ..DialectRules::ANY
};
