//! What each target accepts: one table for each, with the source of every limit beside it.
//!
//! The pages of providers are named by their titles, threads of trackers by repository and number.

use super::rules::{
    AcceptedFields, Arguments, CallFields, CallIdRule, CustomCalls, DialectRules, FileIds,
    LegacyCalls, MediaNames, MediaRule, MediaRules, NameRule, OwnFields, ReasoningRule,
    ResultMedia, TextFiles, TurnRules, UniqueIn, Urls, is_word,
};
use crate::canonical::{Provider, Role};

/// `OpenAI` Chat Completions.
pub(in crate::dialect) const OPENAI: DialectRules = DialectRules {
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
        accepted: AcceptedFields::Of(&[(Role::Tool, "name"), (Role::Assistant, "audio")]),
        may_be_all: false,
        may_interrupt: false,
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
    },
    ..DialectRules::ANY
};

/// Providers with the same API that read what they added to it.
pub(in crate::dialect) const OPENAI_COMPATIBLE: DialectRules = DialectRules {
    // Gemini's endpoint needs the signatures of its calls again.
    call_fields: CallFields::Kept,
    // 400 without `reasoning_content` from DeepSeek: openai/openai-agents-python#2155, badlogic/pi-mono#3636.
    reasoning: ReasoningRule::Kept,
    // The converters of litellm leave out custom calls, and give legacy calls and their results ids that differ.
    custom_calls: CustomCalls::Converted,
    legacy_calls: LegacyCalls::Converted,
    // Anthropic, behind the converters of litellm, refuses an id that is used again.
    call_ids: CallIdRule::SHORT,
    // No other provider has the files that were uploaded to `OpenAI`.
    media: MediaRules { ids: FileIds::Refused, ..OPENAI.media },
    ..OPENAI
};

/// Guide "Images and vision": types of images, as data or at a URL.
const OPENAI_IMAGES: MediaRule = MediaRule {
    types: &["image/jpeg", "image/png", "image/gif", "image/webp"],
    urls: Urls::Fetched(&["http", "https"]),
};

/// Anthropic's Messages API.
pub(in crate::dialect) const ANTHROPIC: DialectRules = DialectRules {
    // API reference, "Messages": names of tools and ids of `tool_use` blocks.
    functions: NameRule::WORD,
    call_ids: CallIdRule { allows: is_word, ..CallIdRule::ANY },
    custom_calls: CustomCalls::Converted,
    // API reference: `input` is an object.
    arguments: Arguments::Object,
    call_fields: CallFields::Of(Provider::Anthropic),
    // Guide "Extended thinking": blocks need their signature, and begin the turn of the model, which holds
    // those of one response only: microsoft/vscode#328157, n8n-io/n8n#22550.
    reasoning: ReasoningRule::Signed,
    media: MediaRules {
        // API reference: an assistant and the `system` field have no such blocks.
        roles: &[Role::User],
        // Guide "Vision"; a URL must be `https`.
        images: MediaRule {
            types: &["image/jpeg", "image/png", "image/gif", "image/webp"],
            urls: Urls::Fetched(&["https"]),
        },
        sounds: MediaRule::NONE,
        // Guide "PDF support"; plain text has a source of its own.
        files: MediaRule { types: &["application/pdf"], urls: Urls::Fetched(&["https"]) },
        text_files: TextFiles::Kept,
        names: MediaNames::Kept,
        // Guide "Files API": an id is valid in the workspace that uploaded the file.
        ids: FileIds::Of(Provider::Anthropic),
        results: ResultMedia::Accepted,
        // 400 "all content must be type text if is_error is true": vellum-ai/vellum-assistant#18387.
        error_results: ResultMedia::Refused,
    },
    // The first message is the user's; Claude 4.6 and later refuse an answer that was begun.
    turns: TurnRules::AROUND,
    ..DialectRules::ANY
};

/// The Claude Agent SDK, which sends the messages of a session to Anthropic's Messages API.
pub(in crate::dialect) const CLAUDE_AGENT_SDK: DialectRules = DialectRules {
    // API reference, "Messages": names of tools have up to 128 characters; those of MCP are long.
    functions: NameRule { max_chars: 128, ..NameRule::WORD },
    // The SDK wrote the entries of a session, and many of them are no messages.
    own_fields: OwnFields {
        may_be_all: true,
        may_interrupt: true,
        ..OwnFields::all_of("claude-agent-sdk")
    },
    // The SDK sends only what its model accepts; other providers behind it sign with an empty text.
    reasoning: ReasoningRule::Kept,
    // A session may begin and end with any entry.
    turns: TurnRules::ANY,
    ..ANTHROPIC
};

/// Gemini's developer API.
pub(in crate::dialect) const GEMINI: DialectRules = DialectRules {
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
pub(in crate::dialect) const GEMINI_VERTEX: DialectRules = DialectRules {
    media: MediaRules {
        names: MediaNames::Kept,
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
        // Guide "Function calling", multimodal responses: inline parts, from Gemini 3 on.
        results: ResultMedia::Inline,
        error_results: ResultMedia::Inline,
        ..MediaRules::ANY
    }
}

/// `LangChain`: its adapters convert for the provider, so that content stays as it is.
pub(in crate::dialect) const LANGCHAIN: DialectRules = DialectRules {
    own_fields: OwnFields::all_of("langchain"),
    custom_calls: CustomCalls::Converted,
    // Reference "ToolCall": `args` is a dictionary.
    arguments: Arguments::Object,
    ..DialectRules::ANY
};

/// `UIMessage` of the AI SDK: a browser may know URLs that no provider knows.
pub(in crate::dialect) const UI_MESSAGE: DialectRules = DialectRules {
    // A message may have only data for the user interface.
    own_fields: OwnFields { may_be_all: true, ..OwnFields::all_of("ui-message") },
    custom_calls: CustomCalls::Converted,
    // `callProviderMetadata` of a tool part; the provider of the AI SDK for Gemini reads it.
    call_fields: CallFields::Of(Provider::Gemini),
    media: MediaRules {
        // Reference "UIMessage": instructions are text.
        roles: &[Role::User, Role::Assistant],
        // Reference "FileUIPart": a file has a URL; `convertToModelMessages` throws for a relative one.
        images: ANY_ABSOLUTE,
        sounds: ANY_ABSOLUTE,
        files: ANY_ABSOLUTE,
        ids: FileIds::Refused,
        ..MediaRules::ANY
    },
    ..DialectRules::ANY
};

const ANY_ABSOLUTE: MediaRule = MediaRule { urls: Urls::Absolute, ..MediaRule::ANY };

/// The Agent Client Protocol.
pub(in crate::dialect) const ACP: DialectRules = DialectRules {
    // A plan is no part of a message.
    own_fields: OwnFields { may_be_all: true, ..OwnFields::all_of("acp") },
    custom_calls: CustomCalls::Converted,
    // Page "Content": blocks have data or a URI.
    media: MediaRules { ids: FileIds::Refused, ..MediaRules::ANY },
    ..DialectRules::ANY
};

/// AG2 up to 0.14, which sends the messages to interfaces like that of `OpenAI`.
pub(in crate::dialect) const AG2_CLASSIC: DialectRules = DialectRules {
    functions: NameRule::WORD,
    call_ids: CallIdRule::SHORT,
    max_calls: 128,
    custom_calls: CustomCalls::Converted,
    arguments: Arguments::Object,
    media: MediaRules {
        // `code_utils.content_str` knows text and images only.
        images: OPENAI_IMAGES,
        sounds: MediaRule::NONE,
        files: MediaRule::NONE,
        text_files: TextFiles::Refused,
        ids: FileIds::Refused,
        ..MediaRules::ANY
    },
    ..DialectRules::ANY
};

/// The events of AG2 1.x: the configured client converts for its provider.
pub(in crate::dialect) const AG2_V1: DialectRules = DialectRules {
    functions: NameRule::WORD,
    custom_calls: CustomCalls::Converted,
    // `ToolCallEvent.arguments` is parsed as an object before a call is run.
    arguments: Arguments::Object,
    // `ModelResponse` has no reasoning.
    reasoning: ReasoningRule::Removed,
    // `ModelMessage.content` is one text.
    media: MediaRules { roles: &[Role::User], ..MediaRules::ANY },
    ..DialectRules::ANY
};

/// `OpenAI` Responses.
pub(in crate::dialect) const OPENAI_RESPONSES: DialectRules = DialectRules {
    // API reference, "Create a model response": names of functions, and ids of at most 64 characters.
    functions: NameRule::WORD,
    call_ids: CallIdRule { max_chars: 64, ..CallIdRule::ANY },
    call_fields: CallFields::Under("openai"),
    own_fields: OwnFields::all_of("openai-responses"),
    ..DialectRules::ANY
};

/// The messages of pydantic-ai, whose models convert for their providers.
pub(in crate::dialect) const PYDANTIC_AI: DialectRules =
    DialectRules { own_fields: OwnFields::all_of("pydantic-ai"), ..DialectRules::ANY };

/// AG-UI, a protocol between agents and user interfaces.
pub(in crate::dialect) const AG_UI: DialectRules = DialectRules {
    call_fields: CallFields::Under("ag_ui"),
    own_fields: OwnFields::all_of("ag-ui"),
    ..DialectRules::ANY
};

/// Google's Agent Development Kit, whose models convert for their providers.
pub(in crate::dialect) const GOOGLE_ADK: DialectRules = DialectRules {
    custom_calls: CustomCalls::Converted,
    // `google.genai.types.FunctionCall.args` is a dictionary.
    arguments: Arguments::Object,
    // `google.genai.types.Part.thought_signature`.
    call_fields: CallFields::Of(Provider::Gemini),
    // An event may have only actions.
    own_fields: OwnFields { may_be_all: true, ..OwnFields::all_of("google-adk") },
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

/// OpenTelemetry's semantic conventions for generative AI, schema of `gen_ai.input.messages`.
pub(in crate::dialect) const OTEL_GENAI: DialectRules = DialectRules {
    custom_calls: CustomCalls::Converted,
    media: MediaRules {
        // Schema of `gen_ai.system_instructions`: a text part, or one of an unknown type.
        roles: &[Role::User, Role::Assistant],
        // Schema, "BlobPart": it has no name.
        names: MediaNames::Refused,
        // Schema, "ToolCallResponsePart": the response is any value.
        ..MediaRules::ANY
    },
    ..DialectRules::ANY
};
