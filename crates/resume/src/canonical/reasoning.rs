use serde_json::{Value, json};

use super::message::CanonicalMessage;

/// A block of the reasoning that a model produced before its answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reasoning {
    /// Readable reasoning. Its provider accepts it again only with the signature.
    Text { text: String, signature: Option<String> },
    /// Reasoning that the provider encrypted.
    Redacted(String),
}

impl CanonicalMessage {
    /// Takes the reasoning: a text, or a list of `thinking` and `redacted_thinking` blocks.
    ///
    /// Blocks without text and signature are skipped. Returns `None` for any other value.
    pub(crate) fn take_reasoning(&mut self) -> Option<Vec<Reasoning>> {
        match self.reasoning.take() {
            Value::Null => Some(Vec::new()),
            Value::String(text) if text.is_empty() => Some(Vec::new()),
            Value::String(text) => Some(vec![Reasoning::Text { text, signature: None }]),
            Value::Array(blocks) => {
                let mut blocks: Vec<_> =
                    blocks.iter().map(Reasoning::read).collect::<Option<_>>()?;
                blocks.retain(|block| !block.is_empty());
                Some(blocks)
            }
            _ => None,
        }
    }
}

impl Reasoning {
    /// Returns whether the block has neither text nor anything that its provider needs again.
    fn is_empty(&self) -> bool {
        match self {
            Self::Text { text, signature } => text.is_empty() && signature.is_none(),
            Self::Redacted(data) => data.is_empty(),
        }
    }

    /// Reads a stored block.
    pub(crate) fn read(block: &Value) -> Option<Self> {
        let text = |field: &str| block.get(field)?.as_str().map(str::to_owned);
        match block.get("type")?.as_str()? {
            "thinking" => {
                let signature = text("signature").filter(|signature| !signature.is_empty());
                Some(Self::Text { text: text("thinking")?, signature })
            }
            "redacted_thinking" => Some(Self::Redacted(text("data")?)),
            _ => None,
        }
    }

    /// Returns the value to store for blocks: the text alone for one unsigned text.
    pub(crate) fn into_stored(mut blocks: Vec<Self>) -> Value {
        match &mut blocks[..] {
            [] => Value::Null,
            [Self::Text { text, signature: None }] => std::mem::take(text).into(),
            _ => blocks.into_iter().map(Value::from).collect(),
        }
    }
}

impl From<Reasoning> for Value {
    fn from(block: Reasoning) -> Self {
        match block {
            Reasoning::Text { text, signature: Some(signature) } => {
                json!({"type": "thinking", "thinking": text, "signature": signature})
            }
            Reasoning::Text { text, signature: None } => {
                json!({"type": "thinking", "thinking": text})
            }
            Reasoning::Redacted(data) => json!({"type": "redacted_thinking", "data": data}),
        }
    }
}
