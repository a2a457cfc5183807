use serde_json::Value;

use super::loss::Loss;
use super::parsed::{self, Parsed};
use super::pipeline::{CallIdRule, Form, NameRule, OlderCalls, Rules, Writer};
use super::violation::Violation;
use crate::Options;
use crate::canonical::Canonical;
use crate::rendered::Rendered;

mod content;
mod validate;
mod write;

/// The messages of `OpenAI` Chat Completions.
///
/// Roles are `system`, `developer`, `user`, `assistant`, `tool` and the older `function`; a message
/// with any other role is dropped, never guessed at.
///
/// # Calls and results
///
/// A message with `tool_calls` must be followed at once by `tool` messages that answer every call.
///
/// - AG2's single message with `tool_responses` becomes one `tool` message for each response.
/// - A message whose calls are not all answered so, or are not well formed, loses all its calls.
///   Its text stays; when there is none it is dropped. Results that it did get are dropped.
/// - A result that comes later, after another message, is dropped and not moved: its place in the
///   conversation is part of what happened. So are second answers to a call, and results without
///   a call. Messages that are dropped themselves do not stand between a call and its result.
/// - Two calls in one message with the same id cannot be told apart, so they are not well formed.
///   An id that an earlier message used gets the first free suffix `_2`, `_3`, … together with its
///   results.
/// - Ids have 40 characters at most. A longer one, with its suffix, becomes `call_` and 32 digits of its
///   digest.
/// - Arguments that are not text become their JSON text, and absent ones `{}`.
/// - `tool_calls` and `function_call` that are null or empty are left out. `function_call` is left
///   out beside `tool_calls`. The older function calls have no ids, so nothing pairs them.
///
/// # Content
///
/// A content is text or a list of content parts that its role may have; anything else becomes its
/// JSON text, and so does a part by itself. A file that is a picture or a sound is given as one,
/// without its name. A sound is `wav` or `mp3`, and a file is given with its data or its id: there
/// are no files by address.
///
/// Null is kept beside calls only, where it also stands for the empty text; a refusal without
/// content becomes a content part; the null of a `tool` message becomes the text `null`, and that of
/// a `function` message is kept. Any other message with null content is dropped.
///
/// # Names
///
/// Names of speakers and of functions match `^[a-zA-Z0-9_-]{1,64}$`. In others each character
/// outside becomes `_`, and the rest after 64 characters is cut. Should the outcome be another
/// name of the same conversation, the end becomes `_` and eight digits of the original's digest.
/// [`Rendered::names`] leads back. Results carry no name.
#[derive(Debug, Clone, Copy)]
pub struct OpenAi;

impl Form for OpenAi {
    const RULES: &'static Rules = &Rules {
        speakers: NameRule::WORD,
        functions: NameRule::WORD,
        call_ids: CallIdRule::SHORT,
        older_calls: OlderCalls::Kept,
    };

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

    fn writer(&self, _options: &Options) -> Box<dyn Writer> {
        Box::new(Messages)
    }

    fn violations(&self, messages: &[Value]) -> Vec<Violation> {
        validate::violations(messages)
    }

    fn parse(&self, _system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        parsed::all(messages)
    }
}

/// Writes each message by itself.
#[derive(Debug)]
struct Messages;

impl Writer for Messages {
    fn write(&mut self, message: Canonical, rendered: &mut Rendered) {
        write::write(message, rendered);
    }
}
