use crate::canonical::Role;
use crate::dialect::pipeline::rules::{
    CallFields, CallIdRule, CustomCalls, DialectRules, FileIds, MediaRule, MediaRules, OwnFields,
    UniqueIn, Urls,
};

/// `UIMessage` of the AI SDK: a browser may know URLs that no provider knows.
pub(super) const UI_MESSAGE: DialectRules = DialectRules {
    // A message may have only data for the user interface.
    own_fields: OwnFields { may_be_all: true, ..OwnFields::all_of("ui-message") },
    custom_calls: CustomCalls::Converted,
    // A part has its result, so that no other message is searched for it.
    call_ids: CallIdRule { unique_in: UniqueIn::Message, ..CallIdRule::ANY },
    // `callProviderMetadata` of a tool part; the provider of the AI SDK for Gemini reads it.
    call_fields: CallFields::GeminiSignatures,
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
    // Pages show it; a model that was stopped while it thought has said nothing else.
    reasoning_alone: true,
    ..DialectRules::ANY
};

const ANY_ABSOLUTE: MediaRule = MediaRule { urls: Urls::Absolute, ..MediaRule::ANY };
