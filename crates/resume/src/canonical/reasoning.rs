use serde_json::{Value, json};

use super::message::Canonical;

/// What a model thought before it spoke.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reasoning {
    /// In words; signed by the provider, which takes it back only with its signature.
    Text { text: String, signature: Option<String> },
    /// Encrypted by the provider.
    Redacted(String),
}

impl Canonical {
    /// Takes the reasoning out of `reasoning_content`: a text, or a list of `thinking` and
    /// `redacted_thinking` blocks; those that are empty, and not signed, are passed over. Nothing is taken
    /// when there is anything else.
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
    /// Says whether there is nothing that a provider could want back.
    fn is_empty(&self) -> bool {
        match self {
            Self::Text { text, signature } => text.is_empty() && signature.is_none(),
            Self::Redacted(data) => data.is_empty(),
        }
    }

    /// Reads a block as it is stored.
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

    /// Returns what is stored of several: the text alone where that is all there is.
    pub(crate) fn stored(mut blocks: Vec<Self>) -> Value {
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
