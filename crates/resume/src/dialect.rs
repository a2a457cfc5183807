//! The dialects: message formats of other systems, one file for each.
//!
//! A dialect renders stored messages in its format, validates messages in that format, and, unless it is
//! for export only, parses them into stored messages. The validator shares no rule with the renderer, so that each checks the
//! other: every rendering passes the validation of its dialect. Rendering is deterministic, and
//! rendering what was parsed from a rendering changes nothing.
//!
//! ```
//! use resume::dialect;
//! use serde_json::json;
//!
//! let openai = dialect::named("openai").expect("it is a dialect");
//! let messages = vec![json!({"role": "user", "content": "Where do we meet?"})];
//! assert!(dialect::validate(openai, &messages).is_ok());
//!
//! let parsed = openai.parse(Vec::new(), messages);
//! assert_eq!(parsed.messages[0].body.role, "user");
//! assert!(parsed.dropped.is_empty());
//! ```

use serde_json::Value;

pub use crate::rendered::Rendered;

mod contract;
pub use contract::{Dialect, Renderer, Resent, Scan};

mod violation;
pub use violation::Violation;

mod loss;
pub use loss::Loss;

mod parsed;
pub(crate) use parsed::mark_continued;
pub use parsed::{Parsed, TranscriptPosition};

pub(crate) mod claude_agent_sdk;
pub use claude_agent_sdk::ClaudeAgentSdk;

pub(crate) mod acp;
pub use acp::Acp;

mod ag2;
pub use ag2::Ag2;

mod openai;
pub use openai::{OpenAi, OpenAiCompatible};

mod openai_responses;
pub use openai_responses::OpenAiResponses;

mod ag2_classic;
pub use ag2_classic::{Ag2Classic, Profile};

mod ag2_v1;
pub use ag2_v1::Ag2V1;

mod anthropic;
pub use anthropic::Anthropic;

mod bedrock_converse;

mod gemini;
pub use gemini::{Gemini, GeminiApi};

mod google_adk;
pub use google_adk::GoogleAdk;

mod langchain;
pub use langchain::LangChain;

mod ag_ui;
pub use ag_ui::AgUi;

mod pydantic_ai;
pub use pydantic_ai::PydanticAi;

pub(crate) mod ui_message;
pub use ui_message::UiMessage;

mod otel_genai;
pub use otel_genai::OtelGenAi;

mod yao;
pub use yao::Yao;

mod violation_list;

mod base64_text;

mod call_places;

mod checks;

mod instructions;

mod open_calls;

mod pieces;

mod pipeline;
pub(crate) use pipeline::INTERRUPTED_RESULT;

mod prepare;

mod shapes;

mod speaker;

mod thinking;

mod turn_pairs;

mod turns;
pub(crate) use turns::CONTINUE_PROMPT;

/// The registry: every dialect, in the order in which the documentation lists them.
const REGISTRY: &[&dyn Dialect] = &[
    &Ag2,
    &Ag2Classic { profile: Profile::Pattern },
    &Ag2Classic { profile: Profile::Manager },
    &Ag2V1,
    &OpenAi,
    &OpenAiCompatible,
    &OpenAiResponses,
    &Anthropic,
    &ClaudeAgentSdk,
    &bedrock_converse::BedrockConverse,
    &Gemini { api: GeminiApi::Developer },
    &Gemini { api: GeminiApi::Vertex },
    &LangChain,
    &PydanticAi,
    &GoogleAdk,
    &UiMessage,
    &AgUi,
    &Acp,
    &yao::Yao,
    &OtelGenAi,
];

/// Returns every dialect, in the order of the documentation.
pub fn all() -> impl Iterator<Item = &'static dyn Dialect> {
    REGISTRY.iter().copied()
}

/// Returns the dialect with this name.
pub fn named(name: &str) -> Option<&'static dyn Dialect> {
    all().find(|dialect| dialect.name() == name)
}

/// Returns the dialects that are parsed, too; the others are for export only.
pub fn parsed() -> impl Iterator<Item = &'static dyn Dialect> {
    all().filter(|dialect| !dialect.is_export_only())
}

/// Returns the names of all dialects.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(Dialect::name)
}

/// Checks messages against the rules of a dialect and of its provider; returns the violations, ordered
/// by position.
pub fn validate(dialect: &dyn Dialect, messages: &[Value]) -> Result<(), Vec<Violation>> {
    let mut violations = dialect.validate(messages);
    violations.extend(dialect.provider_violations(messages));
    violations.sort_by_key(|violation| violation.index);
    if violations.is_empty() { Ok(()) } else { Err(violations) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dialect_is_found_by_its_name_alone() {
        for (position, name) in names().enumerate() {
            assert!(
                name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
            );
            assert_eq!(named(name).map(Dialect::name), Some(name));
            assert_eq!(names().position(|other| other == name), Some(position));
        }
        assert!(named("AG2").is_none());
    }
}
