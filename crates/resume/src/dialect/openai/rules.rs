use super::content::ADDED_MEDIA;
use super::own_fields::{ADDED, AUDIO};
use crate::canonical::{Provider, Role};
use crate::dialect::pipeline::rules::{
    AcceptedFields, Arguments, CallFields, CallIdRule, CustomCalls, DialectRules, FileIds,
    LegacyCalls, MediaNames, MediaRule, MediaRules, NameRule, OwnFields, ReasoningRule,
    ResultMedia, TextFiles, Thoughts, UniqueIn, UrlTypes, Urls,
};

/// `OpenAI` Chat Completions.
pub(super) const OPENAI: DialectRules = DialectRules {
    // API reference, "Create chat completion": names of participants and functions.
    speakers: NameRule::WORD,
    functions: NameRule::WORD,
    // 400 "string too long", expected at most 40 characters, for `tool_calls[].id`. Logs of agents that ran on show
    // that a later message may use an id again: the model itself repeats ids.
    call_ids: CallIdRule { unique_in: UniqueIn::Message, ..CallIdRule::SHORT },
    legacy_calls: LegacyCalls::Kept,
    // The name of a tool is in none of the types, and accepted: the logs of agents that ran have it.
    own_fields: OwnFields {
        dialect: "openai",
        accepted: AcceptedFields::Of(&[(Role::Tool, "name"), (Role::Assistant, AUDIO)]),
        // Its writer drops an answer that has only fields which no provider accepts alone.
        may_be_all: true,
        may_interrupt: false,
        has_call_places: false,
        thoughts: Thoughts::Removed,
    },
    // 400 "array too long", expected at most 128 `tool_calls`: openai/openai-dotnet#317.
    max_calls: 128,
    custom_calls: CustomCalls::Kept,
    // Servers with the same API parse the text: vllm-project/vllm#43995, sgl-project/sglang#28035.
    arguments: Arguments::Object,
    // The schema of a call has no such field; Gemini's compatible endpoint alone reads it.
    call_fields: CallFields::Removed,
    // The schema of a message has no `reasoning_content`.
    reasoning: ReasoningRule::Removed,
    media: MediaRules {
        // API reference: only messages of the user have parts other than text.
        roles: &[Role::User],
        images: OPENAI_IMAGES,
        // API reference: `input_audio.format` is `wav` or `mp3`.
        sounds: MediaRule {
            types: &["audio/wav", "audio/wave", "audio/x-wav", "audio/mp3", "audio/mpeg"],
            urls: Urls::Refused,
        },
        // Guide "PDF files"; this API refuses other types: trpc-group/trpc-agent-go#1816.
        files: MediaRule { types: &["application/pdf"], urls: Urls::Refused },
        text_files: TextFiles::GivenAsText,
        // 400 "missing required parameter" without `filename`: openai/openai-agents-python#1513.
        names: MediaNames::Required,
        ids: FileIds::Of(Provider::OpenAi),
        // API reference: a tool message has text parts only.
        results: ResultMedia::Refused,
        error_results: ResultMedia::Refused,
        url_types: UrlTypes::Removed,
        ..MediaRules::ANY
    },
    ..DialectRules::ANY
};

/// Providers with the same API that read what they added to it.
pub(super) const OPENAI_COMPATIBLE: DialectRules = DialectRules {
    // Gemini's endpoint needs the signatures of its calls again.
    call_fields: CallFields::Kept,
    // 400 without `reasoning_content` from DeepSeek: openai/openai-agents-python#2155, badlogic/pi-mono#3636.
    reasoning: ReasoningRule::Kept,
    reasoning_alone: true,
    // The converters of litellm leave out custom calls, and give legacy calls and their results ids that differ.
    custom_calls: CustomCalls::Converted,
    legacy_calls: LegacyCalls::Converted,
    // Anthropic, behind the converters of litellm, refuses an id that is used again. Only `OpenAI` limits the length.
    call_ids: CallIdRule::ANY,
    own_fields: OwnFields {
        accepted: AcceptedFields::Of(&[
            (Role::Tool, "name"),
            (Role::Assistant, AUDIO),
            // litellm and OpenRouter give them back to the provider that wrote them.
            (Role::Assistant, ADDED[0]),
            (Role::Assistant, ADDED[1]),
            (Role::Assistant, ADDED[2]),
            (Role::Assistant, ADDED[3]),
            (Role::Assistant, ADDED[4]),
        ]),
        ..OPENAI.own_fields
    },
    // No other provider has the files that were uploaded to `OpenAI`.
    media: MediaRules { ids: FileIds::Refused, own_parts: ADDED_MEDIA, ..OPENAI.media },
    ..OPENAI
};

/// Guide "Images and vision": types of images, as data or at a URL.
pub(in crate::dialect) const OPENAI_IMAGES: MediaRule = MediaRule {
    types: &["image/jpeg", "image/png", "image/gif", "image/webp"],
    urls: Urls::Fetched(&["http", "https"]),
};
