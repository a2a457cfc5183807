use crate::dialect::pipeline::rules::{
    Arguments, CallFields, CustomCalls, DialectRules, LibraryParts, MediaRules, OwnFields,
};

/// `LangChain`: its adapters convert for the provider, so that content stays as it is.
pub(super) const LANGCHAIN: DialectRules = DialectRules {
    own_fields: OwnFields { has_call_places: true, ..OwnFields::all_of("langchain") },
    media: MediaRules { library_parts: LibraryParts::Kept, ..MediaRules::ANY },
    // The writer converts them, unless they come back as they were.
    custom_calls: CustomCalls::Kept,
    // The signatures are in `additional_kwargs`. The own field is the mark of a call whose arguments the library could not parse.
    call_fields: CallFields::SignedUnder("langchain"),
    // Reference "ToolCall": `args` is a dictionary.
    arguments: Arguments::Object,
    // Pages show it; a model that was stopped while it thought has said nothing else.
    reasoning_alone: true,
    ..DialectRules::ANY
};
