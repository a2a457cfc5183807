/// What a form has no place for, so that it is not there any more in what is parsed from it.
///
/// A list of these says by what a transcript may differ once it has been rendered and parsed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Who spoke: the name is folded into the text, or left out.
    Names,
    /// Who makes calls without saying anything.
    SilentSpeakers,
    /// Where one text of an agent ends and the next one begins.
    JoinedTexts,
    /// Where one message ends and the next one of the same side begins.
    Boundaries,
    /// Whether an instruction came after others had spoken.
    InstructionPlaces,
    /// Instructions.
    Instructions,
    /// Whether an instruction was the developer's.
    Developer,
    /// Text of nothing but white space, and null where there are calls.
    BlankText,
    /// Reasoning.
    Reasoning,
    /// The signatures of reasoning, and what is encrypted of it.
    ReasoningSignatures,
    /// Reasoning that no provider signed.
    UnsignedReasoning,
    /// Refusals.
    Refusals,
    /// That a text is a refusal.
    RefusalMarks,
    /// That a result is an error.
    Errors,
    /// That a call is not one of a function, and the older calls without ids.
    CustomCalls,
    /// The signatures of calls.
    CallSignatures,
    /// The signatures of all calls but the first of a message.
    LaterCallSignatures,
    /// Calls and their results.
    Calls,
    /// Pictures, sounds and files, of which the JSON text is left.
    Media,
    /// Sounds and files, likewise.
    OtherMedia,
    /// Sounds, likewise.
    Sounds,
    /// Media of a type that the form does not have, or that it does not take by address: of a text
    /// the type, of all else everything but its JSON text.
    MediaTypes,
    /// What a picture or a sound is called.
    MediaNames,
    /// Whether what is given by its address is a picture or a file, and what it is called.
    MediaKinds,
}
