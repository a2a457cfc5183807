use serde_json::Value;

use super::loss::Loss;
use super::parsed::Parsed;
use super::pipeline::{DialectRules, MessageWriter, ToolDialect};
use super::violation::Violation;
use crate::Options;
use crate::canonical::CanonicalMessage;
use crate::rendered::Rendered;

mod content;
mod own_fields;
pub(super) use own_fields::show_images;
mod parse;
mod rules;
pub(super) use rules::OPENAI_IMAGES;

mod validate;
mod write;

/// The messages of `OpenAI` Chat Completions.
///
/// Roles are `system`, `developer`, `user`, `assistant`, `tool` and the legacy `function`. A message
/// with any other role is dropped: the role is never guessed.
///
/// # Calls and results
///
/// A message with `tool_calls` must be followed directly by `tool` messages that answer every call.
///
/// - AG2's single message with `tool_responses` becomes one `tool` message for each response.
/// - A message loses all its calls if not all of them have results, or if one is
///   malformed. Its text stays; without any text the message is dropped. Results of removed calls are
///   dropped.
/// - A result after another message is moved to its call, because the tool has run. If more than 1 MiB of messages lie
///   between, a note replaces it. Second results of a call and results without a call are dropped.
/// - The same call twice in a message is one call. Of different calls with one id in a message, the later one gets the
///   first free suffix `_2`, `_3`, …, and its results do too. Results of calls of a message with one id are matched in
///   order. A later message may use an id again.
/// - Ids have at most 40 characters. A longer id, suffix included, becomes `call_` and 32 digits of its
///   digest.
/// - Arguments that are not text become their JSON text, and missing or empty arguments become `{}`.
///   Text that is not that of an object, such as what is left of an interrupted answer, becomes the field
///   `input` of one.
/// - More than 128 calls become several messages, each followed by its results.
/// - The signatures that Gemini gives calls are removed, and so is reasoning.
/// - `tool_calls` and `function_call` that are null or empty are omitted. `function_call` is omitted
///   beside `tool_calls`. Legacy function calls have no ids, so they are not matched with results.
///
/// # Content
///
/// The content is a text or a list of the content parts that its role may have. Any other content, and
/// any other part, becomes its JSON text. A file that is an image or a sound becomes an image or audio
/// part, without its file name. An image is a JPEG, PNG, GIF or WebP file or has a web address, a sound is
/// `wav` or `mp3`. A file is a PDF file or has an id of `OpenAI`, never a URL, and gets the name `file.pdf`
/// if it has none. A text file becomes a text part.
///
/// A null content is kept beside calls, where it also replaces the empty text, and in a `function`
/// message. In a `tool` message it becomes the text `null`. A refusal without content becomes a content
/// part. The id of what a model spoke replaces its transcript. Any other message with null content is dropped.
///
/// # Names
///
/// Names of speakers and of functions match `^[a-zA-Z0-9_-]{1,64}$`. In any other name, each invalid
/// character becomes `_`, and characters after the 64th are cut. If the conversation already has the
/// resulting name, its end becomes `_` and eight digits of the original's digest. [`Rendered::names`]
/// maps the new names to the originals. Results have no name.
#[derive(Debug, Clone, Copy)]
pub struct OpenAi;

impl ToolDialect for OpenAi {
    const RULES: &'static DialectRules = &rules::OPENAI;

    const LOSSES: &'static [Loss] = &[
        Loss::BlankText,
        Loss::Reasoning,
        Loss::Errors,
        Loss::CallSignatures,
        Loss::MediaTypes,
        Loss::MediaNames,
    ];

    fn name(&self) -> &'static str {
        "openai"
    }

    fn writer(&self, _options: &Options) -> Box<dyn MessageWriter> {
        Box::new(MessagesWriter { target: Target::OpenAi })
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn provider_violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::provider_violations(messages)
    }

    fn parse(&self, _system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        Parsed::from_transcript(Vec::new(), messages, |message| parse::read(message).map(Some))
    }

    fn prepare(&self, messages: &mut [Value]) {
        parse::prepare(messages);
    }
}

/// The messages of providers with the API of `OpenAI` that added fields to it.
///
/// It is [`OpenAi`], with these exceptions:
///
/// - Reasoning stays as the text `reasoning_content`, without signatures, and calls keep their `extra_content`. `DeepSeek`
///   and Gemini refuse a conversation that has lost them. `thinking_blocks`, `reasoning_items` and
///   `provider_specific_fields` of litellm and `reasoning_details` of `OpenRouter` stay.
/// - Ids of calls may have any length.
/// - Speech of a model has its transcript as the content, beside its id.
/// - Calls of custom tools become function calls, and legacy function calls get ids, which only `OpenAI` reads otherwise.
/// - The id of a file of `OpenAI` becomes its JSON text: no other provider knows it.
/// - A call with an id that an earlier message used gets a suffix, because other providers refuse it.
#[derive(Debug, Clone, Copy)]
pub struct OpenAiCompatible;

impl ToolDialect for OpenAiCompatible {
    const RULES: &'static DialectRules = &rules::OPENAI_COMPATIBLE;

    const LOSSES: &'static [Loss] = &[
        Loss::BlankText,
        Loss::ReasoningSignatures,
        Loss::Errors,
        Loss::CustomCalls,
        Loss::MediaTypes,
        Loss::MediaNames,
    ];

    fn name(&self) -> &'static str {
        "openai-compatible"
    }

    fn writer(&self, _options: &Options) -> Box<dyn MessageWriter> {
        Box::new(MessagesWriter { target: Target::OtherProviders })
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        let mut violations = validate::violations(&validate::without_added_fields(messages));
        // Only OpenAI limits the length of ids.
        violations.retain(|violation| violation.rule != "long_call_id");
        violations
    }

    fn provider_violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::of_other_providers(messages)
    }

    fn parse(&self, system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        ToolDialect::parse(&OpenAi, system, messages)
    }

    fn prepare(&self, messages: &mut [Value]) {
        parse::prepare(messages);
    }
}

/// What gets the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    OpenAi,
    OtherProviders,
}

/// Writes each message separately.
#[derive(Debug)]
struct MessagesWriter {
    target: Target,
}

impl MessageWriter for MessagesWriter {
    fn write(&mut self, message: CanonicalMessage, rendered: &mut Rendered) {
        write::write(self.target, message, rendered);
    }
}
