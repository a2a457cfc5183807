use records::{Clock as _, SystemClock};

use crate::wire::Time;

/// The form of the frames of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Envelope {
    /// All fields beside each other.
    Flat,
    /// That of `MozaiksAI`: `{"type", "seq", "timestamp", "data"}`.
    Nested,
}

/// What a flat frame begins with.
const TYPE: &str = r#"{"type":""#;

impl Envelope {
    /// The subprotocol with flat frames.
    pub(super) const FLAT: &str = "reprise.v1";
    /// The subprotocol with nested frames.
    pub(super) const NESTED: &str = "mozaiks.v1";

    /// Returns the envelope of the subprotocol that was agreed on; without one, this one.
    pub(super) fn agreed(self, protocol: Option<&[u8]>) -> Self {
        match protocol {
            Some(protocol) if protocol == Self::NESTED.as_bytes() => Self::Nested,
            Some(protocol) if protocol == Self::FLAT.as_bytes() => Self::Flat,
            _ => self,
        }
    }

    /// Puts a flat frame into the envelope.
    ///
    /// `seq` is the sequence of a new message. Frames of other events have none, because clients take a smaller number than
    /// the last for a gap.
    pub(super) fn wrap(self, flat: String, seq: Option<u64>) -> String {
        if self == Self::Flat {
            return flat;
        }
        let parts = flat.strip_prefix(TYPE).and_then(|rest| rest.split_once("\","));
        let Some((kind, fields)) = parts else { return flat };
        let timestamp = Time::from(SystemClock.now());
        let seq = seq.map(|seq| format!(r#","seq":{seq}"#)).unwrap_or_default();
        format!(r#"{{"type":"{kind}"{seq},"timestamp":"{timestamp}","data":{{{fields}}}"#)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_nested_frame_has_its_fields_in_data() {
        let flat =
            r#"{"type":"chat.text","chat_id":"c1","index":4,"content":"\",{\"type\":\"x\""}"#;
        let nested = Envelope::Nested.wrap(flat.to_owned(), Some(4));
        let mut nested: Value = serde_json::from_str(&nested).unwrap();
        assert!(nested["timestamp"].take().is_string());
        assert_eq!(
            nested,
            json!({
                "type": "chat.text", "seq": 4, "timestamp": null,
                "data": {"chat_id": "c1", "index": 4, "content": "\",{\"type\":\"x\""},
            })
        );
        let other =
            Envelope::Nested.wrap(r#"{"type":"chat.status","status":"paused"}"#.to_owned(), None);
        let other: Value = serde_json::from_str(&other).unwrap();
        assert_eq!((&other["data"], other.get("seq")), (&json!({"status": "paused"}), None));
        assert_eq!(Envelope::Flat.wrap(flat.to_owned(), Some(4)), flat);
    }

    #[test]
    fn a_subprotocol_decides_about_the_envelope() {
        for envelope in [Envelope::Flat, Envelope::Nested] {
            assert_eq!(envelope.agreed(None), envelope);
            assert_eq!(envelope.agreed(Some(b"mozaiks.v1")), Envelope::Nested);
            assert_eq!(envelope.agreed(Some(b"reprise.v1")), Envelope::Flat);
        }
    }
}
