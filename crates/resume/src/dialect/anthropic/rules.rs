use super::user_blocks::{CLEAR_AT, OUTPUT_CONFIG};
use crate::canonical::{Provider, Role};
use crate::dialect::call_places::CALLS_AFTER;
use crate::dialect::pipeline::rules::{
    AcceptedFields, Arguments, CallFields, CallIdRule, CustomCalls, DialectRules, FileIds,
    MediaNames, MediaRule, MediaRules, NameRule, OwnFields, ReasoningRule, ResultMedia, TextFiles,
    TurnRules, UrlTypes, Urls, is_word,
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
    own_fields: OwnFields {
        accepted: AcceptedFields::Of(&[
            (Role::Assistant, CALLS_AFTER),
            (Role::System, CLEAR_AT),
            (Role::System, OUTPUT_CONFIG),
        ]),
        // Its writer drops an instruction that has only fields which the API does not accept alone.
        may_be_all: true,
        has_call_places: true,
        ..OwnFields::all_of("anthropic")
    },
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
        url_types: UrlTypes::Removed,
        ..MediaRules::ANY
    },
    // The first message is the user's; Claude 4.6 and later refuse an answer that was begun.
    turns: TurnRules::AROUND,
    ..DialectRules::ANY
};
