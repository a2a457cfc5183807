use records::JsonObject;
use serde_json::Value;

use super::pipeline::TurnRules;
use crate::Repair;
use crate::canonical::CanonicalMessage;
use crate::rendered::{Origin, Rendered};

/// The text of a user turn that is added because the dialect requires one.
pub(crate) const CONTINUE_PROMPT: &str = "Continue.";

/// The role of an instruction that is a turn.
const SYSTEM: &str = "system";

/// Merges neighbouring messages of one role into turns.
///
/// Anthropic and Gemini require that the roles alternate. The merger keeps only the newest turn in
/// memory, because only that one can still grow.
#[derive(Debug)]
pub(super) struct TurnMerger {
    /// The name of the field that holds the blocks of a turn.
    blocks_field: &'static str,
    /// Creates a block of text.
    text_block: fn(&str) -> Value,
    /// Returns how a turn follows the open turn, if both have the same role.
    neighbours: fn(&Turn, &Turn) -> Neighbours,
    rules: TurnRules,
    open: Option<Turn>,
    has_begun: bool,
    /// Who spoke last before the open turn.
    speaker: Option<&'static str>,
    /// The last instruction, which is not part of any turn.
    instruction: Option<Origin>,
}

/// How a turn follows another one of the same role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Neighbours {
    /// They become one turn.
    Joined,
    /// They stay two turns.
    Apart,
    /// They stay two turns, with one of the user between them.
    Separated,
}

/// The blocks of one role, before the other role speaks.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) origin: Origin,
    pub(super) role: &'static str,
    pub(super) kind: TurnKind,
    /// Whether it has calls. At the end of a conversation these are open, and their results come next.
    pub(super) has_calls: bool,
    pub(super) blocks: Vec<Value>,
    /// The other fields of the message.
    pub(super) fields: JsonObject,
}

impl Turn {
    /// What the role says in a message.
    pub(super) fn of_speech(
        message: &CanonicalMessage,
        role: &'static str,
        blocks: Vec<Value>,
    ) -> Self {
        let has_calls = !message.calls.is_empty();
        let (origin, fields) = (message.origin, JsonObject::new());
        Self { origin, role, kind: TurnKind::Speech, has_calls, blocks, fields }
    }

    /// The results of calls.
    pub(super) fn of_results(origin: Origin, blocks: Vec<Value>) -> Self {
        let fields = JsonObject::new();
        Self { origin, role: "user", kind: TurnKind::Results, has_calls: false, blocks, fields }
    }
}

/// What a turn holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnKind {
    /// What a person or a model says.
    Speech,
    /// The results of calls.
    Results,
}

impl TurnMerger {
    pub(super) fn new(
        blocks_field: &'static str,
        text_block: fn(&str) -> Value,
        neighbours: fn(&Turn, &Turn) -> Neighbours,
        rules: TurnRules,
    ) -> Self {
        Self {
            blocks_field,
            text_block,
            neighbours,
            rules,
            open: None,
            has_begun: false,
            speaker: None,
            instruction: None,
        }
    }

    /// Adds the blocks of a message to the open turn, or ends that turn and opens a new one.
    pub(super) fn add(&mut self, turn: Turn, rendered: &mut Rendered) {
        let open = self.open.as_mut().filter(|open| open.role == turn.role);
        let neighbours = open.as_ref().map(|open| (self.neighbours)(open, &turn));
        if let Some(open) = open
            && neighbours == Some(Neighbours::Joined)
        {
            // Results always share a turn with other results, so that merging them loses nothing.
            if open.kind == turn.kind && turn.kind == TurnKind::Speech {
                rendered.repair(turn.origin, Repair::MergedIntoTurn);
            }
            open.kind = turn.kind;
            open.has_calls |= turn.has_calls;
            open.blocks.extend(turn.blocks);
            return;
        }
        self.end(rendered);
        let needs_user = self.rules.user_begins && !self.has_begun && turn.role != "user";
        if needs_user || neighbours == Some(Neighbours::Separated) {
            self.add_user_turn(turn.origin, rendered);
        }
        self.has_begun = true;
        self.open = Some(turn);
    }

    /// Records an instruction; returns whether a turn was added before it.
    pub(super) fn observe_instruction(&mut self, origin: Origin) -> bool {
        self.instruction = Some(origin);
        self.has_begun
    }

    /// Lets the conversation end with the open turn, which its provider continues.
    pub(super) fn pause(&mut self) {
        self.rules.user_ends = false;
    }

    /// Ends the conversation, with a turn of the user if the last one is not theirs and does not wait for results, or if
    /// there are only instructions.
    pub(super) fn finish(&mut self, rendered: &mut Rendered) {
        let answered = match &self.open {
            Some(last) => {
                // An instruction at the end is one for the turn of the user before it.
                let speaker = if last.role == SYSTEM { self.speaker } else { Some(last.role) };
                let is_due = self.rules.user_ends && speaker != Some("user") && !last.has_calls;
                Some(last.origin).filter(|_| is_due)
            }
            None => self.instruction.filter(|_| self.rules.never_empty),
        };
        self.end(rendered);
        if let Some(origin) = answered {
            self.add_user_turn(origin, rendered);
        }
    }

    fn add_user_turn(&self, origin: Origin, rendered: &mut Rendered) {
        rendered.repair(origin, Repair::TurnAdded);
        let blocks = vec![(self.text_block)(CONTINUE_PROMPT)];
        rendered.messages.push(self.write("user", blocks, JsonObject::new()));
    }

    fn end(&mut self, rendered: &mut Rendered) {
        if let Some(turn) = self.open.take() {
            if turn.role != SYSTEM {
                self.speaker = Some(turn.role);
            }
            rendered.messages.push(self.write(turn.role, turn.blocks, turn.fields));
        }
    }

    fn write(&self, role: &str, blocks: Vec<Value>, fields: JsonObject) -> Value {
        let mut object = JsonObject::with_capacity(2 + fields.len());
        object.insert("role".to_owned(), role.into());
        // Fields of a message may say all that it says.
        if fields.is_empty() || !blocks.is_empty() {
            object.insert(self.blocks_field.to_owned(), blocks.into());
        }
        object.extend(fields);
        Value::Object(object)
    }
}
