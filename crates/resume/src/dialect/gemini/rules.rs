use crate::canonical::{Provider, Role};
use crate::dialect::call_places::CALLS_AFTER;
use crate::dialect::pipeline::rules::{
    AcceptedFields, Arguments, CallFields, CustomCalls, DialectRules, FileIds, MediaNames,
    MediaRule, MediaRules, NameRule, OwnFields, ReasoningRule, ResultMedia, TextFiles, TurnRules,
    UrlTypes, Urls,
};

/// Gemini's developer API.
pub(super) const GEMINI: DialectRules = DialectRules {
    media: MediaRules {
        // The developer API refuses `displayName`: googleapis/python-genai#951.
        names: MediaNames::Refused,
        // Guide "Files API": a URI of its own, or a public URL.
        ids: FileIds::Of(Provider::Gemini),
        ..gemini_media(&["http", "https"])
    },
    ..GEMINI_ANYWHERE
};

/// Gemini on Vertex AI.
pub(super) const GEMINI_VERTEX: DialectRules = DialectRules {
    media: MediaRules {
        names: MediaNames::Kept,
        // 400 for an empty `mimeType`: langchain-ai/langchainjs#8947.
        url_types: UrlTypes::Required,
        // Files of the developer API are not there.
        ids: FileIds::Refused,
        // Reference "FileData": a URL, or an object in Cloud Storage.
        ..gemini_media(&["http", "https", "gs"])
    },
    ..GEMINI_ANYWHERE
};

const GEMINI_ANYWHERE: DialectRules = DialectRules {
    // API reference, "FunctionDeclaration".
    functions: NameRule {
        max_chars: 128,
        allows_first: |first| first.is_ascii_alphabetic() || first == '_',
        allows_later: |rest| rest.is_ascii_alphanumeric() || "_.:-".contains(rest),
    },
    custom_calls: CustomCalls::Converted,
    // API reference, "FunctionCall": `args` is an object.
    arguments: Arguments::Object,
    call_fields: CallFields::Of(Provider::Gemini),
    own_fields: OwnFields {
        accepted: AcceptedFields::Of(&[(Role::Assistant, CALLS_AFTER)]),
        ..OwnFields::all_of("gemini")
    },
    // Guide "Thought signatures": thoughts themselves are not sent back.
    reasoning: ReasoningRule::Removed,
    // Newest models refuse an answer that was begun; `contents` must not be empty.
    turns: TurnRules::AROUND,
    ..DialectRules::ANY
};

const fn gemini_media(schemes: &'static [&'static str]) -> MediaRules {
    let urls = Urls::Fetched(schemes);
    MediaRules {
        // API reference, "systemInstruction": text only.
        roles: &[Role::User, Role::Assistant],
        // Guide "Image understanding"; GIF is refused since Gemini 2.0.
        images: MediaRule {
            types: &["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"],
            urls,
        },
        // Guides "Audio understanding" and, for Vertex AI, "Audio requirements".
        sounds: MediaRule { types: &["audio/*"], urls },
        // Guides "Document understanding" and "Video understanding".
        files: MediaRule { types: &["application/pdf", "text/*", "video/*"], urls },
        text_files: TextFiles::GivenAsText,
        // Guide "Function calling", multimodal responses, from Gemini 3 on; `google.genai.types.FunctionResponsePart`.
        results: ResultMedia::Named,
        error_results: ResultMedia::Named,
        ..MediaRules::ANY
    }
}
