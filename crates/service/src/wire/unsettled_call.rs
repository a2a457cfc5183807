use resume::UnsettledCall;
use serde::Serialize;
use utoipa::ToSchema;

/// A tool call without a result.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = UnsettledCall)]
pub(crate) struct UnsettledCallResponse {
    /// The sequence of the message with the call.
    sequence: u64,
    #[schema(example = "call_1")]
    call_id: String,
    /// The name of the tool.
    #[schema(example = "search")]
    name: String,
}

impl From<UnsettledCall> for UnsettledCallResponse {
    fn from(call: UnsettledCall) -> Self {
        let UnsettledCall { sequence, call_id, name } = call;
        Self { sequence, call_id, name }
    }
}
