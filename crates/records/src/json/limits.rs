/// The sizes beyond which input is refused. Bytes are those of the BSON encoding.
#[derive(Debug, Clone, Copy)]
pub struct Limits;

impl Limits {
    /// Largest message.
    pub const MESSAGE_BYTES: usize = 4 << 20;
    /// Most messages in one append.
    pub const BATCH_MESSAGES: usize = 1_000;
    /// Largest append.
    pub const BATCH_BYTES: usize = 8 << 20;
    /// Deepest nesting of arrays and objects in one value.
    pub const NESTING: usize = 64;
    /// Largest context snapshot.
    pub const SNAPSHOT_BYTES: usize = 8 << 20;
    /// Largest artifact payload.
    pub const ARTIFACT_BYTES: usize = 8 << 20;
    /// Largest metadata of a chat session.
    pub const METADATA_BYTES: usize = 16 << 10;
    /// Longest title, in characters.
    pub const TITLE_CHARS: usize = 512;
    /// Longest `timestamp` of a message, in characters.
    pub const TIMESTAMP_CHARS: usize = 64;
    /// Longest prompt of an input request.
    pub const PROMPT_BYTES: usize = 16 << 10;
    /// Most options of an input request.
    pub const OPTIONS: usize = 64;
    /// Longest option.
    pub const OPTION_BYTES: usize = 1 << 10;
    /// Largest arguments of a tool call that an input request is bound to.
    pub const ARGUMENTS_BYTES: usize = 256 << 10;
    /// Longest time, in seconds, in which an input request expires: 30 days.
    pub const INPUT_EXPIRY_SEC: u32 = 30 * 86_400;

    /// Most participants of one chat.
    pub const PARTICIPANTS: usize = 1_000;
    /// Most persons named as present in one chat.
    pub const PRESENT: usize = 200;
    /// Most calls of a model recorded at once.
    pub const BATCH_CALLS: usize = 1_000;
    /// Most tokens of one call.
    pub const CALL_TOKENS: u64 = 1_000_000_000;
    /// Longest call, in milliseconds: eleven days.
    pub const CALL_DURATION_MS: u64 = 1_000_000_000;
}
