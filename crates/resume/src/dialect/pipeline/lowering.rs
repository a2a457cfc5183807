//! Lowers messages to what a target accepts, before its writer spells them.
//!
//! This is the one place where the tables of the dialects are applied to content, calls and reasoning. Each change is
//! reported as a repair of the message.

use records::JsonObject;
use serde_json::{Value, json};

use crate::Repair;
use crate::canonical::{Call, CanonicalMessage, Provider, Role};
use crate::dialect::call_places::CALLS_AFTER;
use crate::dialect::gemini::is_only_mark;
use crate::rendered::Rendered;

use super::rules::{Arguments, CallFields, CustomCalls, DialectRules, ReasoningRule};
use super::writer::MessageWriter;

mod media;

mod split;
use split::SplitExchange;

/// Lowers each message, and passes it to the writer of the dialect.
#[derive(Debug)]
pub(super) struct LoweringWriter {
    rules: &'static DialectRules,
    writer: Box<dyn MessageWriter>,
    /// The rest of a message with too many calls, until all its results are there.
    split: Option<SplitExchange>,
}

impl LoweringWriter {
    pub(super) fn new(rules: &'static DialectRules, writer: Box<dyn MessageWriter>) -> Self {
        Self { rules, writer, split: None }
    }

    fn write_split(&mut self, rendered: &mut Rendered) {
        for message in self.split.take().into_iter().flat_map(SplitExchange::into_messages) {
            self.writer.write(message, rendered);
        }
    }
}

impl MessageWriter for LoweringWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        lower(self.rules, &mut message);
        if message.role == Role::Tool {
            let result = match &mut self.split {
                Some(split) => split.add(message),
                None => Some(message),
            };
            if let Some(result) = result {
                self.writer.write(result, rendered);
            }
            return;
        }
        self.write_split(rendered);
        self.split = SplitExchange::begin(&mut message, self.rules.max_calls);
        self.writer.write(message, rendered);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        self.write_split(rendered);
        self.writer.finish(rendered);
    }
}

fn lower(rules: &DialectRules, message: &mut CanonicalMessage) {
    media::lower(&rules.media, message);
    lower_reasoning(rules.reasoning, message);
    lower_calls(rules, message);
}

fn lower_reasoning(rule: ReasoningRule, message: &mut CanonicalMessage) {
    let is_accepted = match rule {
        ReasoningRule::Kept => true,
        ReasoningRule::Signed => message
            .read_reasoning()
            .is_some_and(|blocks| blocks.iter().all(|placed| placed.reasoning.is_signed())),
        ReasoningRule::Removed => message.read_reasoning().is_some_and(|it| it.is_empty()),
    };
    if !is_accepted {
        message.reasoning.take();
        message.repairs.push(Repair::ReasoningRemoved);
        if rule == ReasoningRule::Signed {
            // They count the blocks of reasoning.
            message.provider.shift_remove(CALLS_AFTER);
        }
    }
}

fn lower_calls(rules: &DialectRules, message: &mut CanonicalMessage) {
    for call in &mut message.calls {
        if rules.custom_calls == CustomCalls::Converted {
            call.convert_custom();
        }
        if rules.arguments == Arguments::Object {
            call.require_object();
        }
        if lower_call_fields(rules.call_fields, call) {
            call.repairs.push(Repair::CallFieldsRemoved);
        }
    }
    if rules.arguments == Arguments::Object
        && let Some(target) = &mut message.function_call
    {
        message.repairs.extend(target.require_object());
    }
    lower_result_fields(rules.call_fields, message);
}

/// Removes the fields of a result for which the dialect has no place.
fn lower_result_fields(rule: CallFields, message: &mut CanonicalMessage) {
    let own = match rule {
        CallFields::Of(provider @ (Provider::Gemini | Provider::Anthropic)) => {
            Some(provider.name())
        }
        _ => None,
    };
    let fields = &mut message.result_fields;
    if fields.is_null() || is_only_mark(fields) {
        return;
    }
    let mut own = own.and_then(|name| Some((name, fields.get_mut(name)?.take())));
    let count = fields.as_object().map_or(usize::MAX, JsonObject::len);
    let mut removes_any = count > own.iter().len();
    if let Some((_, Value::Object(own))) = &mut own
        && rule == CallFields::Of(Provider::Anthropic)
    {
        let count = own.len();
        own.retain(|field, _| field == TOOLSET);
        removes_any |= own.len() < count;
    }
    if removes_any {
        message.repairs.push(Repair::CallFieldsRemoved);
    }
    message.result_fields = own.map_or(Value::Null, |(name, own)| json!({name: own}));
}

/// The fields of a call that Anthropic accepts again. It counts the marks in `cache_control`, of which
/// a request may have four, so that they are not repeated.
const ANTHROPIC_FIELDS: [&str; 2] = ["caller", TOOLSET];

/// The field of a call and of its result with the tools of Anthropic among which the tool is, such as its browser.
const TOOLSET: &str = "toolset_name";

/// Removes the fields of providers for which the dialect has no place; returns whether there are any.
fn lower_call_fields(rule: CallFields, call: &mut Call) -> bool {
    if rule == CallFields::Kept {
        return false;
    }
    let is_builtin = std::mem::take(&mut call.is_builtin);
    let count = call.anthropic_fields.len();
    let is_kept = |field: &str| {
        rule == CallFields::Of(Provider::Anthropic) && ANTHROPIC_FIELDS.contains(&field)
    };
    call.anthropic_fields.retain(|field, _| is_kept(field));
    let has_signature = call.gemini_signature().is_some();
    let keeps_signature = match rule {
        CallFields::Of(provider) => provider == Provider::Gemini,
        CallFields::GeminiSignatures | CallFields::SignedUnder(_) => true,
        _ => false,
    };
    if !keeps_signature {
        call.signature = None;
    }
    let loses_signature = has_signature && call.signature.is_none();
    let loses_anthropic_fields = call.anthropic_fields.len() < count;
    let is_lost = |name: &String| {
        !["google", "anthropic"].contains(&name.as_str())
            && match rule {
                CallFields::Under(own) | CallFields::SignedUnder(own) => own != name,
                CallFields::Of(provider) => provider.name() != name,
                _ => true,
            }
    };
    let mut names = call.extra_content.as_object().into_iter().flat_map(JsonObject::keys);
    let loses_any = is_builtin || loses_signature || loses_anthropic_fields || names.any(is_lost);
    if rule == CallFields::Removed {
        call.extra_content = Value::Null;
    }
    loses_any
}
