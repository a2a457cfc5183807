/// The largest sizes of input. Sizes in bytes are those of the BSON encoding.
#[derive(Debug, Clone, Copy)]
pub struct Limits;

impl Limits {
    /// The largest size of a message.
    pub const MESSAGE_BYTES: usize = 4 << 20;
    /// The largest number of messages in one append.
    pub const BATCH_MESSAGES: usize = 1_000;
    /// The largest number of messages in one deletion.
    pub const DELETED_MESSAGES: usize = 100;
    /// The largest size of one append.
    pub const BATCH_BYTES: usize = 8 << 20;
    /// The largest depth of arrays and objects in one value.
    pub const NESTING: usize = 64;
    /// The largest size of a context snapshot.
    pub const SNAPSHOT_BYTES: usize = 8 << 20;
    /// The largest size of the payload of an artifact.
    pub const ARTIFACT_BYTES: usize = 8 << 20;
    /// The largest size of the metadata of a chat session.
    pub const METADATA_BYTES: usize = 16 << 10;
    /// The largest size of the system prompt of a chat session.
    pub const SYSTEM_PROMPT_BYTES: usize = 16 << 10;
    /// The largest length of a title, in characters.
    pub const TITLE_CHARS: usize = 512;
    /// The largest length of the `timestamp` of a message, in characters.
    pub const TIMESTAMP_CHARS: usize = 64;
    /// The largest size of the prompt of an input request.
    pub const PROMPT_BYTES: usize = 16 << 10;
    /// The largest number of options of an input request.
    pub const OPTIONS: usize = 64;
    /// The largest size of an option.
    pub const OPTION_BYTES: usize = 1 << 10;
    /// The largest size of the arguments of the tool call to which an input request is bound.
    pub const ARGUMENTS_BYTES: usize = 256 << 10;
    /// The largest time after which an input request expires, in seconds: 30 days.
    pub const INPUT_EXPIRY_SEC: u32 = 30 * 86_400;

    /// The largest number of participants of one chat.
    pub const PARTICIPANTS: usize = 1_000;
    /// The largest number of present persons that one chat lists.
    pub const PRESENT: usize = 200;
    /// The largest number of provider calls recorded at once.
    pub const BATCH_CALLS: usize = 1_000;
    /// The largest number of tokens of one call.
    pub const CALL_TOKENS: u64 = 1_000_000_000;
    /// The largest duration of one call, in milliseconds: eleven days.
    pub const CALL_DURATION_MS: u64 = 1_000_000_000;
    /// The largest number of runs of tools recorded at once.
    pub const BATCH_TOOL_RUNS: usize = 1_000;
    /// The largest size of the parameters, and of the result, of a run of a tool.
    pub const TOOL_VALUE_BYTES: usize = 256 << 10;
    /// The largest size of the error of a run of a tool.
    pub const TOOL_ERROR_BYTES: usize = 16 << 10;
    /// The longest run of a tool, in milliseconds: eleven days.
    pub const TOOL_RUN_MS: u64 = 1_000_000_000;
    /// The largest number of tags, of modes, and of languages, of an assistant.
    pub const ASSISTANT_NAMES: usize = 64;
    /// The largest size of the avatar, and of the description, of an assistant.
    pub const ASSISTANT_TEXT_BYTES: usize = 64 << 10;
    /// The largest size of the texts of an assistant in other languages.
    pub const ASSISTANT_LOCALES_BYTES: usize = 64 << 10;
    /// The largest size of the settings of an assistant.
    pub const ASSISTANT_CONFIG_BYTES: usize = 256 << 10;
}
