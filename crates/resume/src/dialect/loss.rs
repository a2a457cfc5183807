/// Something that a dialect cannot represent, so that parsing a rendering does not give it back.
///
/// A rendering that is parsed again may differ from the stored messages by the losses that its
/// dialect declares, and by nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// The names of speakers: a name becomes part of the text, or is dropped.
    Names,
    /// The names of agents that make calls without any text.
    SilentSpeakers,
    /// The boundaries between several texts of one message.
    JoinedTexts,
    /// The boundaries between neighbouring messages of the same role.
    Boundaries,
    /// The positions of system instructions among the messages.
    InstructionPlaces,
    /// System instructions.
    Instructions,
    /// The difference between the roles `system` and `developer`.
    Developer,
    /// Text that is only white space, and a null content beside calls.
    BlankText,
    /// Reasoning.
    Reasoning,
    /// The signatures of reasoning, and encrypted reasoning.
    ReasoningSignatures,
    /// Reasoning without a provider's signature.
    UnsignedReasoning,
    /// Refusals.
    Refusals,
    /// The mark that a text is a refusal.
    RefusalMarks,
    /// The mark that a result is an error.
    Errors,
    /// The difference between function calls, custom calls and legacy function calls without ids.
    CustomCalls,
    /// The signatures of calls.
    CallSignatures,
    /// The signatures of all calls of a message but the first.
    LaterCallSignatures,
    /// Calls and their results.
    Calls,
    /// Images, sounds and files: each becomes its JSON text.
    Media,
    /// Sounds and files: each becomes its JSON text.
    OtherMedia,
    /// Sounds: each becomes its JSON text.
    Sounds,
    /// Media with a type that the dialect does not support, or with a URL where it takes none.
    ///
    /// A text file loses its media type; all other such media become their JSON text.
    MediaTypes,
    /// Media at a URL of the web: each becomes its JSON text.
    WebMedia,
    /// The file names of images and sounds.
    MediaNames,
    /// The file names of inline files; see `MediaNames` for those of images and sounds.
    FileNames,
    /// The kind and the file name of media that are given by a URL.
    MediaKinds,
}
