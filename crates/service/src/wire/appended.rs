use persistence::{Appended, Outcome};
use resume::dialect::Violation;
use serde::Serialize;
use utoipa::ToSchema;

/// Something that the caller should know of a message although it is stored.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Noted)]
pub(crate) struct NotedResponse {
    /// The index of the message in the request.
    index: usize,
    /// The rule that the message breaks, as a stable word.
    #[schema(example = "unanswered_call")]
    rule: &'static str,
    /// How it breaks the rule, as a sentence.
    detail: String,
}

/// What a message of a request says of itself that is not stored as it says it.
#[derive(Debug)]
pub(crate) struct Stated {
    /// Where the caller believes that the message is.
    pub(crate) sequence: Option<u64>,
    /// The fields that messages do not have.
    pub(crate) unknown_fields: Vec<String>,
}

impl NotedResponse {
    /// Notes what differs from what the caller has stated.
    pub(crate) fn of_stated(stated: &[Stated], messages: &[Appended]) -> Vec<Self> {
        let stated = stated.iter().zip(messages).enumerate();
        let noted = stated.flat_map(|(index, (stated, message))| {
            let sequence = Self::other_sequence(index, stated, message);
            sequence.into_iter().chain(Self::unknown_fields(index, stated))
        });
        noted.collect()
    }

    /// Notes that a message has another sequence than its sender believes.
    fn other_sequence(index: usize, stated: &Stated, message: &Appended) -> Option<Self> {
        let stated = stated.sequence.filter(|stated| *stated != message.sequence)?;
        let detail = format!("the message has the sequence {}, not {stated}", message.sequence);
        Some(Self { index, rule: "other_sequence", detail })
    }

    /// Notes that a message has fields that messages do not have.
    pub(crate) fn unknown_fields(index: usize, stated: &Stated) -> Option<Self> {
        const LISTED: usize = 10;
        let fields = &stated.unknown_fields;
        if fields.is_empty() {
            return None;
        }
        let short = |field: &String| field.chars().take(64).collect::<String>();
        let listed: Vec<_> =
            fields.iter().take(LISTED).map(|field| format!("{:?}", short(field))).collect();
        let more = if fields.len() > LISTED { ", …" } else { "" };
        let detail = format!("unknown fields are kept in provider: {}{more}", listed.join(", "));
        Some(Self { index, rule: "unknown_field", detail })
    }
}

impl From<Violation> for NotedResponse {
    fn from(Violation { index, rule, detail }: Violation) -> Self {
        Self { index, rule, detail }
    }
}

/// An appended message.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Appended)]
pub(crate) struct AppendedResponse {
    #[schema(example = "evt_msg_001")]
    event_id: String,
    #[schema(example = 1)]
    sequence: u64,
    /// Whether the message was stored before.
    duplicate: bool,
}

impl From<Appended> for AppendedResponse {
    fn from(message: Appended) -> Self {
        Self {
            event_id: message.event_id.into(),
            sequence: message.sequence,
            duplicate: message.outcome == Outcome::Duplicate,
        }
    }
}
