use serde_json::{Map, Value};

use crate::Repair;
use crate::rendered::{Origin, Rendered};

/// What is said where the form wants the user to speak, and nobody did.
const GO_ON: &str = "Continue.";

/// Gathers neighbours of one side into turns; holds back the last turn only.
#[derive(Debug)]
pub(super) struct Turns {
    /// The field of a turn that holds its blocks.
    field: &'static str,
    /// Writes a block of text.
    text: fn(&str) -> Value,
    /// Says whether a turn of the same role may join the open one.
    joins: fn(&Turn, &Turn) -> bool,
    open: Option<Turn>,
    has_begun: bool,
}

/// What one side says before the other one speaks.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) origin: Origin,
    pub(super) role: &'static str,
    /// Said by a person or a model, or the results of calls.
    pub(super) kind: Kind,
    pub(super) blocks: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Said,
    Results,
}

impl Turns {
    pub(super) fn new(
        field: &'static str,
        text: fn(&str) -> Value,
        joins: fn(&Turn, &Turn) -> bool,
    ) -> Self {
        Self { field, text, joins, open: None, has_begun: false }
    }

    /// Adds what a message says to the open turn if it can join; otherwise that turn is ended.
    pub(super) fn add(&mut self, turn: Turn, rendered: &mut Rendered) {
        if let Some(open) = &mut self.open
            && open.role == turn.role
            && (self.joins)(open, &turn)
        {
            if open.kind == turn.kind && turn.kind == Kind::Said {
                rendered.repair(turn.origin, Repair::MergedIntoTurn);
            }
            open.kind = turn.kind;
            open.blocks.extend(turn.blocks);
            return;
        }
        if !self.has_begun && turn.role != "user" {
            self.let_user_speak(turn.origin, rendered);
        }
        self.has_begun = true;
        self.end(rendered);
        self.open = Some(turn);
    }

    /// Says whether anybody has spoken.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Ends the conversation, in which the user has the last word.
    pub(super) fn finish(&mut self, rendered: &mut Rendered) {
        let last = self.open.as_ref().map(|turn| (turn.role, turn.origin));
        self.end(rendered);
        if let Some((role, origin)) = last
            && role != "user"
        {
            self.let_user_speak(origin, rendered);
        }
    }

    fn let_user_speak(&self, origin: Origin, rendered: &mut Rendered) {
        rendered.repair(origin, Repair::TurnAdded);
        rendered.messages.push(self.write("user", vec![(self.text)(GO_ON)]));
    }

    fn end(&mut self, rendered: &mut Rendered) {
        if let Some(turn) = self.open.take() {
            rendered.messages.push(self.write(turn.role, turn.blocks));
        }
    }

    fn write(&self, role: &str, blocks: Vec<Value>) -> Value {
        let mut object = Map::with_capacity(2);
        object.insert("role".to_owned(), role.into());
        object.insert(self.field.to_owned(), blocks.into());
        Value::Object(object)
    }
}
