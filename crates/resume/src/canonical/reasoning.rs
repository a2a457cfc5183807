use serde_json::{Value, json};

use super::message::CanonicalMessage;
use crate::Repair;

/// A block of the reasoning that a model produced before its answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reasoning {
    /// Readable reasoning. Its provider accepts it again only with the signature.
    Text { text: String, signature: Option<String> },
    /// Reasoning that the provider encrypted.
    Redacted(String),
}

impl CanonicalMessage {
    /// Takes the reasoning, for dialects in which it precedes the content.
    pub(crate) fn take_reasoning(&mut self) -> Option<Vec<Reasoning>> {
        let blocks = self.take_placed_reasoning()?;
        if blocks.iter().any(|placed| placed.position > 0) {
            self.repairs.push(Repair::ReasoningMoved);
        }
        Some(blocks.into_iter().map(|placed| placed.reasoning).collect())
    }

    /// Takes the reasoning, as [`CanonicalMessage::read_reasoning`] reads it.
    pub(crate) fn take_placed_reasoning(&mut self) -> Option<Vec<PlacedReasoning>> {
        let blocks = self.read_reasoning();
        self.reasoning = Value::Null;
        blocks
    }

    /// Reads the reasoning: a text, or a list of `thinking` and `redacted_thinking` blocks.
    ///
    /// Blocks without text and signature are skipped. Returns `None` for any other value.
    pub(crate) fn read_reasoning(&self) -> Option<Vec<PlacedReasoning>> {
        match &self.reasoning {
            Value::Null => Some(Vec::new()),
            Value::String(text) if text.is_empty() => Some(Vec::new()),
            Value::String(text) => {
                Some(vec![Reasoning::Text { text: text.clone(), signature: None }.into()])
            }
            Value::Array(blocks) => {
                let mut blocks: Vec<_> =
                    blocks.iter().map(PlacedReasoning::read).collect::<Option<_>>()?;
                blocks.retain(|block| !block.reasoning.is_empty());
                Some(blocks)
            }
            _ => None,
        }
    }
}

/// The field of a stored image with which Gemini marks one that a model made while it thought.
pub(crate) const THOUGHT: &str = "thought";

impl CanonicalMessage {
    /// Removes the images of thoughts; returns whether there were any.
    pub(crate) fn remove_thoughts(&mut self) -> bool {
        let Value::Array(parts) = &mut self.content else { return false };
        let count = parts.len();
        parts.retain(|part| part.get(THOUGHT) != Some(&Value::Bool(true)));
        let removes_any = parts.len() < count;
        if removes_any && parts.is_empty() {
            self.content = Value::Null;
        }
        removes_any
    }

    /// Removes the mark from the images of thoughts.
    pub(crate) fn unmark_thoughts(&mut self) {
        for part in self.content.as_array_mut().into_iter().flatten() {
            if part.get(THOUGHT) == Some(&Value::Bool(true)) {
                part.as_object_mut().map(|part| part.shift_remove(THOUGHT));
            }
        }
    }
}

/// The field of a stored block with how many content parts of the message are before it.
pub(crate) const POSITION: &str = "position";

/// A block of reasoning, and where it stands in its message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlacedReasoning {
    pub(crate) reasoning: Reasoning,
    /// How many content parts of the message are before it.
    ///
    /// Only reasoning that its provider signed or encrypted has a position other than 0: the provider refuses another order.
    pub(crate) position: usize,
}

impl From<Reasoning> for PlacedReasoning {
    /// Places the reasoning before the content.
    fn from(reasoning: Reasoning) -> Self {
        Self { reasoning, position: 0 }
    }
}

impl PlacedReasoning {
    /// Places the reasoning after some content parts, if it is signed.
    pub(crate) fn after(position: usize, reasoning: Reasoning) -> Self {
        let position = if reasoning.is_signed() { position } else { 0 };
        Self { reasoning, position }
    }

    /// Reads a stored block, which has a position if it is not before the content.
    pub(crate) fn read(block: &Value) -> Option<Self> {
        let position = block.get(POSITION).and_then(Value::as_u64).unwrap_or_default();
        let position = usize::try_from(position).unwrap_or(usize::MAX);
        let reasoning = Reasoning::read(block)?;
        // `OpenAI` refuses another order as well.
        let is_of_openai = block["extra_content"]["openai"].is_object();
        Some(if is_of_openai {
            Self { reasoning, position }
        } else {
            Self::after(position, reasoning)
        })
    }

    /// Returns the value to store for blocks: the text alone for one unsigned text.
    pub(crate) fn into_stored(mut blocks: Vec<Self>) -> Value {
        match &mut blocks[..] {
            [] => Value::Null,
            [Self { reasoning: Reasoning::Text { text, signature: None }, .. }] => {
                std::mem::take(text).into()
            }
            _ => blocks.into_iter().map(Value::from).collect(),
        }
    }
}

impl From<PlacedReasoning> for Value {
    fn from(placed: PlacedReasoning) -> Self {
        let mut block = Self::from(placed.reasoning);
        if placed.position > 0 {
            block[POSITION] = placed.position.into();
        }
        block
    }
}

/// Merges reasoning into written content parts, each at its position.
pub(crate) fn interleave<T>(
    reasoning: Vec<PlacedReasoning>,
    parts: Vec<T>,
    mut write: impl FnMut(Reasoning) -> T,
) -> Vec<T> {
    let mut reasoning = reasoning.into_iter().peekable();
    let mut merged = Vec::with_capacity(parts.len() + reasoning.len());
    for (position, part) in parts.into_iter().enumerate() {
        while let Some(placed) = reasoning.next_if(|placed| placed.position <= position) {
            merged.push(write(placed.reasoning));
        }
        merged.push(part);
    }
    merged.extend(reasoning.map(|placed| write(placed.reasoning)));
    merged
}

impl Reasoning {
    /// Returns whether the block has neither text nor anything that its provider needs again.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Text { text, signature } => text.is_empty() && signature.is_none(),
            Self::Redacted(data) => data.is_empty(),
        }
    }

    /// Returns whether the provider that made the block accepts it again.
    pub(crate) fn is_signed(&self) -> bool {
        match self {
            Self::Text { signature, .. } => signature.is_some(),
            Self::Redacted(_) => true,
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
