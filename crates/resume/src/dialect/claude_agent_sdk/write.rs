use std::collections::VecDeque;
use std::mem;

use records::JsonObject;
use serde_json::Value;

use super::answer::{is_reasoning, write_again, write_anew};
use super::block::{single_text, write_result};
use super::chain::is_sidechain;
use super::draft::{Draft, EntryLog};
use super::own::OwnFields;
use super::user::{put_in_order, write_speech};
use crate::canonical::{CanonicalMessage, Role, are_parts};
use crate::dialect::instructions;
use crate::dialect::pipeline::MessageWriter;
use crate::rendered::Rendered;
use crate::{DropReason, Options, Repair};

/// Writes entries one by one; delays the last one of the user, to which more results may belong.
#[derive(Debug)]
pub(super) struct EntriesWriter {
    default_user_name: String,
    log: EntryLog,
    open: Option<Draft>,
    /// Results that come before the messages that were between them and their calls, by sequence.
    moved: VecDeque<(CanonicalMessage, OwnFields)>,
}

impl MessageWriter for EntriesWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        let own = OwnFields::take(&mut message);
        let is_moved = |repair: &Repair| matches!(repair, Repair::ResultMoved { .. });
        if own.entry.is_some() && message.repairs.iter().any(is_moved) {
            message.repairs.retain(|repair| !is_moved(repair));
            let sequence = message.origin.sequence;
            let at = self.moved.partition_point(|(it, _)| it.origin.sequence <= sequence);
            self.moved.insert(at, (message, own));
            return;
        }
        self.write_moved(message.origin.sequence, rendered);
        self.write_next(message, own, rendered);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        self.write_moved(u64::MAX, rendered);
        self.close(rendered);
    }
}

impl EntriesWriter {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            default_user_name: options.default_user_name.clone(),
            log: EntryLog::default(),
            open: None,
            moved: VecDeque::new(),
        }
    }

    /// Writes the results that were moved from where the SDK wrote them: a session may have them there.
    fn write_moved(&mut self, before: u64, rendered: &mut Rendered) {
        while self.moved.front().is_some_and(|(message, _)| message.origin.sequence < before) {
            if let Some((message, own)) = self.moved.pop_front() {
                self.write_next(message, own, rendered);
            }
        }
    }

    fn write_next(
        &mut self,
        mut message: CanonicalMessage,
        own: OwnFields,
        rendered: &mut Rendered,
    ) {
        if message.says_nothing() && own.entry.is_none() {
            self.write_note(&message, own.note, rendered);
            return;
        }
        match message.role {
            Role::System | Role::Developer => {
                let has_begun = self.log.has_begun || self.open.is_some();
                instructions::write_apart(&mut message, has_begun, rendered);
            }
            Role::Assistant => {
                self.close(rendered);
                self.write_answer(message, own, rendered);
            }
            _ => self.write_user(message, own, rendered),
        }
    }

    fn write_note(
        &mut self,
        message: &CanonicalMessage,
        note: JsonObject,
        rendered: &mut Rendered,
    ) {
        if !is_note(&note) {
            rendered.drop(message.origin, DropReason::NullContent);
            return;
        }
        self.close(rendered);
        self.log.push(message.origin, &message.event_id, note, rendered);
    }

    fn write_answer(
        &mut self,
        mut message: CanonicalMessage,
        own: OwnFields,
        rendered: &mut Rendered,
    ) {
        let mut entry = own.entry;
        if let (Some(entry), Some(id)) = (&mut entry, own.answer) {
            entry.message.entry("id").or_insert(id);
        }
        let again = entry.as_mut().and_then(|entry| write_again(&mut message, entry));
        let is_again = again.is_some();
        let is_text = is_again && entry.as_ref().is_some_and(|entry| entry.is_text);
        let mut blocks = match again {
            Some(blocks) => blocks,
            None => write_anew(&mut message, &self.default_user_name),
        };
        if !is_again && blocks.iter().all(is_reasoning) {
            rendered.drop(message.origin, DropReason::BlankContent);
            return;
        }
        message.report_repairs(rendered);
        let text = is_text.then(|| single_text(&mut blocks)).flatten();
        let content = text.unwrap_or_else(|| blocks.into());
        self.log.write(Draft::new(&mut message, entry, "assistant", content), rendered);
    }

    fn write_user(
        &mut self,
        mut message: CanonicalMessage,
        own: OwnFields,
        rendered: &mut Rendered,
    ) {
        let mut entry = own.entry;
        let blocks = entry.as_mut().map(|entry| mem::take(&mut entry.blocks));
        let content: Value = if message.role == Role::Tool {
            let own = blocks.and_then(|blocks| blocks.into_iter().next()).unwrap_or_default();
            vec![write_result(&mut message, own)].into()
        } else {
            write_speech(&mut message, blocks, &self.default_user_name)
        };
        if content.as_array().is_some_and(Vec::is_empty) || content == "" && entry.is_none() {
            rendered.drop(message.origin, DropReason::BlankContent);
            return;
        }
        message.report_repairs(rendered);
        let content = match (&mut self.open, content) {
            (Some(Draft { content: Value::Array(open), .. }), Value::Array(more))
                if own.continues =>
            {
                open.extend(more);
                return;
            }
            (_, content) => content,
        };
        self.close(rendered);
        self.open = Some(Draft::new(&mut message, entry, "user", content));
    }

    /// Writes the open entry of the user.
    fn close(&mut self, rendered: &mut Rendered) {
        let Some(mut draft) = self.open.take() else { return };
        if let Value::Array(blocks) = &mut draft.content {
            put_in_order(blocks, &draft.own.order);
        }
        self.log.write(draft, rendered);
    }
}

/// Returns whether an entry may stay as it is: it is no message of the conversation.
fn is_note(entry: &JsonObject) -> bool {
    let Some(Value::String(kind)) = entry.get("type") else { return false };
    if kind != "user" && kind != "assistant" {
        return true;
    }
    let content = entry.get("message").map_or(&Value::Null, |message| &message["content"]);
    let is_readable = match content {
        Value::Array(blocks) if is_sidechain(entry) => are_parts(blocks),
        Value::Array(blocks) => blocks.is_empty(),
        _ => content.is_string() && is_sidechain(entry),
    };
    entry.get("uuid").is_some_and(Value::is_string) && is_readable
}
