use super::formats;
use crate::canonical::Role;
use crate::dialect::pipeline::is_word;
use crate::dialect::pipeline::rules::{
    Arguments, CallFields, CallIdRule, CustomCalls, DialectRules, FileIds, MediaNames, MediaRule,
    MediaRules, NameRule, OwnFields, ReasoningRule, ResultMedia, TextFiles, TurnRules, UrlTypes,
    Urls,
};

/// Amazon Bedrock's Converse API. The service model is that of botocore 1.44, `bedrock-runtime`.
pub(super) const BEDROCK_CONVERSE: DialectRules = DialectRules {
    // Service model, `ToolName`.
    functions: NameRule::WORD,
    // Service model, `ToolUseId`.
    call_ids: CallIdRule {
        max_chars: 64,
        allows: |it| is_word(it) || "_.:-".contains(it),
        ..CallIdRule::ANY
    },
    own_fields: OwnFields { has_call_places: true, ..OwnFields::all_of(super::NAME) },
    custom_calls: CustomCalls::Converted,
    // 400 "Provide a json object": sigoden/aichat#1550 has the same for results.
    arguments: Arguments::Object,
    // The writer reports those that did not come in this format.
    call_fields: CallFields::GeminiSignatures,
    // Claude refuses its reasoning without the signature; user guide, "Claude extended thinking".
    reasoning: ReasoningRule::Signed,
    media: MediaRules {
        // API reference, "Message": images and documents are the user's.
        roles: &[Role::User],
        // API reference, "ImageSource" and so on: bytes, or an object in S3.
        images: MediaRule { types: formats::IMAGES, urls: IN_S3 },
        sounds: MediaRule { types: formats::SOUNDS, urls: IN_S3 },
        files: MediaRule { types: formats::FILES, urls: IN_S3 },
        text_files: TextFiles::GivenAsText,
        // API reference, "DocumentBlock": the writer gives each document a name.
        names: MediaNames::Kept,
        ids: FileIds::Refused,
        results: ResultMedia::Accepted,
        // Claude: 400 "all content must be type text if is_error is true", vellum-ai/vellum-assistant#18387.
        error_results: ResultMedia::Refused,
        url_types: UrlTypes::Removed,
        ..MediaRules::ANY
    },
    // 400 "must alternate": langchain-ai/langchain-aws#192. The first message is the user's; Claude 4.6 and later
    // refuse an answer that was begun.
    turns: TurnRules::AROUND,
    ..DialectRules::ANY
};

const IN_S3: Urls = Urls::Fetched(&["s3"]);

/// The most documents in a request: user guide, "API restrictions"; 400 "You can't include more than 5 documents in a request":
/// aws-samples/generative-ai-use-cases#1685.
///
/// The guide has no limit for images. Those of the API reference, "Message", are limits of models.
pub(super) const MAX_DOCUMENTS: usize = 5;

/// The size of the largest document, in bytes: user guide, "API restrictions", 4.5 MB.
pub(super) const MAX_DOCUMENT_BYTES: usize = 4_500_000;

/// The format of documents that may be larger: the guide exempts it for Claude 4 and later, and for Nova.
pub(super) const UNLIMITED_FORMAT: &str = "pdf";
