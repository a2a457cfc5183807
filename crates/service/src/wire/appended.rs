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

impl NotedResponse {
    /// Notes which messages have another sequence than the caller has stated.
    pub(crate) fn of_sequences(stated: &[Option<u64>], messages: &[Appended]) -> Vec<Self> {
        stated.iter().zip(messages).enumerate().filter_map(Self::other_sequence).collect()
    }

    /// Notes that a message has another sequence than its sender believes.
    fn other_sequence(
        (index, (stated, message)): (usize, (&Option<u64>, &Appended)),
    ) -> Option<Self> {
        let stated = stated.filter(|stated| *stated != message.sequence)?;
        let detail = format!("the message has the sequence {}, not {stated}", message.sequence);
        Some(Self { index, rule: "other_sequence", detail })
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
