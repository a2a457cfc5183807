use records::Message;
use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect};
use super::violation::Violation;
use crate::Options;

pub(super) mod call_ids;
mod context;
mod own_calls;
pub(super) use own_calls::is_only_mark;
mod own_parts;
mod parse;
mod part_fields;
pub(super) use part_fields::{KEPT, MEDIA_PROCESSING, SIGNATURE};
mod rules;
mod validate;
mod write;

/// The `contents` of Gemini's API, and the parts of its system instruction.
///
/// - [`Rendered::system`](super::Rendered::system) holds the parts of the system instructions, apart
///   from the contents. An instruction after the first message is reported, because its position is lost.
/// - Neighbouring messages of one role become one turn. The results of calls are a separate turn,
///   directly after the calls.
/// - The dialect has no names: the text of a speaker begins with their name and a colon, unless the
///   name repeats the role.
/// - Text that is only white space is removed. A conversation that does not begin and end with the user
///   gets a turn "Continue." of the user there.
/// - The first call of a turn has its stored signature, or else the text that tells the API to skip the
///   check, which is reported. Reasoning is removed. What the model said keeps the signatures of its parts, and code that the
///   model ran stays with its result. Calls of tools of the server, their responses, and parts that are not known stay.
/// - Names of functions match `^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`. Arguments are an object; other
///   arguments become the field `input` of one. A result is the field `output`, or `error`; media in
///   it are `parts` of the response.
/// - Images are PNG, JPEG, WebP, HEIC or HEIF; other media are audio, video, PDF and text. URLs are those of
///   the web, of Gemini's Files API (only for the developer API) or of Cloud Storage (only for Vertex AI).
///   Any other text file becomes a text, and any other media become their JSON text.
///
/// A transcript may lack the ids of calls. A response without an id answers the first call of its
/// function in the previous turn that no other response answers.
#[derive(Debug, Clone, Copy)]
pub struct Gemini {
    /// The API that gets the contents.
    pub api: GeminiApi,
}

/// The APIs that serve Gemini; they accept different fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GeminiApi {
    /// The developer API, which refuses the names of inline data.
    Developer,
    /// Vertex AI, which reads objects in Cloud Storage, but no files of the developer API.
    Vertex,
}

impl ToolDialect for Gemini {
    const RULES: &'static DialectRules = &rules::GEMINI;

    const LOSSES: &'static [Loss] = &[
        Loss::Names,
        Loss::Boundaries,
        Loss::InstructionPlaces,
        Loss::Developer,
        Loss::BlankText,
        Loss::Reasoning,
        Loss::RefusalMarks,
        Loss::CustomCalls,
        Loss::LaterCallSignatures,
        Loss::MediaKinds,
        Loss::MediaTypes,
        // Vertex AI keeps both.
        Loss::MediaNames,
        Loss::FileNames,
    ];

    fn rules(&self) -> &'static DialectRules {
        match self.api {
            GeminiApi::Developer => &rules::GEMINI,
            GeminiApi::Vertex => &rules::GEMINI_VERTEX,
        }
    }

    fn name(&self) -> &'static str {
        match self.api {
            GeminiApi::Developer => "gemini",
            GeminiApi::Vertex => "gemini-vertex",
        }
    }

    fn writer(&self, options: &Options) -> Box<dyn MessageWriter> {
        Box::new(write::ContentsWriter::new(self.api, options))
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn waiting(&self, messages: &[Value]) -> Vec<Violation> {
        validate::unknown_fields(messages)
    }

    fn prepare(&self, messages: &mut [Value]) {
        parse::prepare(messages);
    }

    fn provider_violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::provider_violations(self.api, messages)
    }

    fn needs_context(&self, messages: &[Value]) -> bool {
        context::is_needed(messages)
    }

    fn context_of(&self, log: &[Message]) -> Vec<Value> {
        context::of_log(log)
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parse::parse(system, messages)
    }
}
