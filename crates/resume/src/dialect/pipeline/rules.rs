use records::Message;
use records::json::{Hasher, hex};
use serde_json::Value;

use crate::canonical::{self, Canonical};
use crate::rendered::Rendered;

/// What a dialect admits.
#[derive(Debug)]
pub(in crate::dialect) struct Rules {
    /// The names of speakers.
    pub(in crate::dialect) speakers: NameRule,
    /// The names of functions.
    pub(in crate::dialect) functions: NameRule,
    /// The ids of calls.
    pub(in crate::dialect) call_ids: CallIdRule,
    /// What becomes of calls without ids.
    pub(in crate::dialect) older_calls: OlderCalls,
}

/// What becomes of the older calls of functions, which have no ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum OlderCalls {
    /// They stay as they are, and nothing pairs them with their results.
    Kept,
    /// They become calls with ids.
    Converted,
}

impl Rules {
    /// Any name and any id; the older calls get ids.
    pub(in crate::dialect) const ANY: Self = Self {
        speakers: NameRule::ANY,
        functions: NameRule::ANY,
        call_ids: CallIdRule::ANY,
        older_calls: OlderCalls::Converted,
    };

    pub(super) fn read(
        &self,
        index: usize,
        message: Message,
        rendered: &mut Rendered,
        mut hand_on: impl FnMut(Canonical, &mut Rendered),
    ) {
        canonical::read(index, message, rendered, |message, rendered| match self.older_calls {
            OlderCalls::Kept => hand_on(message, rendered),
            OlderCalls::Converted => hand_on(message.with_ids(), rendered),
        });
    }
}

/// Which names a dialect admits.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct NameRule {
    /// The longest name, in characters.
    pub(in crate::dialect) max_chars: usize,
    /// The characters a name may begin with.
    pub(in crate::dialect) begins: fn(char) -> bool,
    /// The characters a name may go on with.
    pub(in crate::dialect) goes_on: fn(char) -> bool,
}

impl NameRule {
    /// `^[a-zA-Z0-9_-]{1,64}$`
    pub(in crate::dialect) const WORD: Self =
        Self { max_chars: 64, begins: is_word, goes_on: is_word };

    /// Any name.
    pub(in crate::dialect) const ANY: Self =
        Self { max_chars: usize::MAX, begins: |_| true, goes_on: |_| true };

    pub(super) fn admits(&self, name: &str) -> bool {
        let mut chars = name.chars();
        chars.next().is_some_and(self.begins)
            && chars.all(self.goes_on)
            && (name.len() <= self.max_chars || name.chars().count() <= self.max_chars)
    }

    /// Replaces each character that is not admitted, and cuts what is too long.
    pub(super) fn bend(&self, name: &str) -> String {
        let bend = |(at, character)| {
            let admits = if at == 0 { self.begins } else { self.goes_on };
            if admits(character) { character } else { '_' }
        };
        name.chars().take(self.max_chars).enumerate().map(bend).collect()
    }
}

/// Which ids of calls a dialect admits.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct CallIdRule {
    /// The longest id, in characters; at least those of [`CallIdRule::digest`].
    pub(in crate::dialect) max_chars: usize,
    /// The characters of an id.
    pub(in crate::dialect) chars: fn(char) -> bool,
}

impl CallIdRule {
    /// Any id.
    pub(in crate::dialect) const ANY: Self = Self { max_chars: usize::MAX, chars: |_| true };

    /// Any characters, but no more than the 40 that `OpenAI` admits.
    pub(in crate::dialect) const SHORT: Self = Self { max_chars: 40, ..Self::ANY };

    pub(super) fn admits(&self, id: &str) -> bool {
        self.is_short(id) && id.chars().all(self.chars)
    }

    fn is_short(&self, id: &str) -> bool {
        id.len() <= self.max_chars || id.chars().count() <= self.max_chars
    }

    /// Returns an id with a suffix, or where that is too long its digest.
    pub(super) fn suffixed(&self, id: &str, suffix: usize) -> String {
        let suffixed = format!("{id}_{suffix}");
        if self.is_short(&suffixed) { suffixed } else { Self::digest(&suffixed) }
    }

    /// Returns the id that stands for one that is not admitted: `call_` and 32 digits of its digest.
    pub(super) fn digest(id: &str) -> String {
        let mut hasher = Hasher::default();
        hasher.field("id", &Value::from(id));
        format!("call_{}", hex(&hasher.finish()))
    }
}

/// Says whether a character is an ASCII letter or digit, or one of `_` and `-`.
pub(in crate::dialect) fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}
