use std::mem;

use records::Message;
use records::json::{Hasher, hex};
use serde_json::Value;

use crate::canonical::{self, CONTINUED, CanonicalMessage, Provider, Role};
use crate::dialect::call_places::CALLS_AFTER;
use crate::dialect::openai::show_images;
use crate::dialect::pipeline::joiner::AnswerJoiner;
use crate::dialect::{call_places, claude_agent_sdk, google_adk};
use crate::rendered::Rendered;
use crate::{DropReason, Repair};

mod media;
pub(super) use media::Verdict;
pub(in crate::dialect) use media::{
    FileIds, LibraryParts, MediaNames, MediaRule, MediaRules, ResultMedia, TextFiles, UrlTypes,
    Urls,
};

/// What a dialect accepts, as data: each dialect has a table `rules`, with the source of every limit beside it.
///
/// The tables name pages of providers by their titles, and threads of trackers by repository and number.
#[derive(Debug)]
pub(in crate::dialect) struct DialectRules {
    /// The names of speakers.
    pub(in crate::dialect) speakers: NameRule,
    /// The names of functions.
    pub(in crate::dialect) functions: NameRule,
    /// The ids of calls.
    pub(in crate::dialect) call_ids: CallIdRule,
    /// What happens to calls without ids.
    pub(in crate::dialect) legacy_calls: LegacyCalls,
    /// The fields that come back in the dialect in which they came.
    pub(in crate::dialect) own_fields: OwnFields,
    /// The most calls in one message.
    pub(in crate::dialect) max_calls: usize,
    /// What happens to calls of custom tools, whose input is any text.
    pub(in crate::dialect) custom_calls: CustomCalls,
    /// The arguments of function calls.
    pub(in crate::dialect) arguments: Arguments,
    /// The fields of providers in calls and results.
    pub(in crate::dialect) call_fields: CallFields,
    /// The names that results have beside their calls.
    pub(in crate::dialect) result_names: ResultNames,
    /// The reasoning.
    pub(in crate::dialect) reasoning: ReasoningRule,
    /// Whether a message may have reasoning alone.
    pub(in crate::dialect) reasoning_alone: bool,
    /// Images, sounds and files.
    pub(in crate::dialect) media: MediaRules,
    /// Who speaks when.
    pub(in crate::dialect) turns: TurnRules,
    /// Returns whether the calls of a message without results are shown as waiting, unless a policy is chosen.
    pub(in crate::dialect) waits: fn(&CanonicalMessage) -> bool,
    /// Whether a call may have further results, which stay where they are, if [`CanonicalMessage::repeats_results`] says so.
    /// Otherwise only the last result is rendered.
    pub(in crate::dialect) keeps_repeated_results: bool,
}

/// Fields that a message of a dialect may have besides those of a stored message.
///
/// They are stored in `provider`, under the name of the dialect. An edit of the content or the name removes them.
#[derive(Debug)]
pub(in crate::dialect) struct OwnFields {
    /// The name under which they are stored.
    pub(in crate::dialect) dialect: &'static str,
    /// Those that are rendered again.
    pub(in crate::dialect) accepted: AcceptedFields,
    /// Whether a message is rendered that has only such fields, and says nothing.
    pub(in crate::dialect) may_be_all: bool,
    /// Whether such a message may come between a call and its result.
    pub(in crate::dialect) may_interrupt: bool,
    /// Whether the calls have places among other blocks of Anthropic, also those of another dialect.
    pub(in crate::dialect) has_call_places: bool,
    /// The images that a model made while it thought.
    pub(in crate::dialect) thoughts: Thoughts,
}

/// Which of its own fields a dialect renders again.
#[derive(Debug)]
pub(in crate::dialect) enum AcceptedFields {
    /// All: its writer puts them where they belong.
    All,
    /// The fields that the provider accepts, with the role that has them.
    Of(&'static [(Role, &'static str)]),
}

/// What happens to images that a model made while it thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum Thoughts {
    /// The own fields of a message say which of its images they are.
    Kept,
    /// They are left out, like the texts of thoughts.
    Removed,
}

/// What happens to legacy function calls, which have no ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum LegacyCalls {
    /// They stay as they are, and are not matched with their results.
    Kept,
    /// They become calls with ids.
    Converted,
}

/// What happens to calls of custom tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum CustomCalls {
    /// The dialect has them.
    Kept,
    /// They become function calls, with their input as the argument `input`.
    Converted,
}

/// The arguments that a function call may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum Arguments {
    /// Any text.
    Any,
    /// A JSON object, or the text of one.
    Object,
}

/// The fields of a provider, such as its signature, that a call or its result may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum CallFields {
    /// The fields of this provider.
    Of(Provider),
    /// The signatures of Gemini alone.
    GeminiSignatures,
    /// None.
    Removed,
    /// All.
    Kept,
    /// Those under this name in `extra_content` are kept.
    Under(&'static str),
    /// The same, and the signatures of Gemini.
    SignedUnder(&'static str),
}

/// The names that results may have beside their calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum ResultNames {
    /// Those of the agents that ran the calls.
    Executors,
    /// None.
    Removed,
}

/// The reasoning that a message may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum ReasoningRule {
    /// Any reasoning.
    Kept,
    /// Only reasoning that the provider signed, and that begins the turn of the model.
    Signed,
    /// None.
    Removed,
}

/// Who speaks first and last, in dialects whose turns alternate.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct TurnRules {
    /// Whether the first turn must be the user's.
    pub(in crate::dialect) user_begins: bool,
    /// Whether the last turn must be the user's.
    pub(in crate::dialect) user_ends: bool,
    /// Whether there must be a turn even if there are only instructions.
    pub(in crate::dialect) never_empty: bool,
}

impl TurnRules {
    /// Any order.
    pub(in crate::dialect) const ANY: Self =
        Self { user_begins: false, user_ends: false, never_empty: false };

    /// The user speaks first and last.
    pub(in crate::dialect) const AROUND: Self =
        Self { user_begins: true, user_ends: true, never_empty: true };
}

impl DialectRules {
    /// Accepts everything; only legacy function calls get ids.
    pub(in crate::dialect) const ANY: Self = Self {
        speakers: NameRule::ANY,
        functions: NameRule::ANY,
        call_ids: CallIdRule::ANY,
        legacy_calls: LegacyCalls::Converted,
        own_fields: OwnFields::NONE,
        max_calls: usize::MAX,
        custom_calls: CustomCalls::Kept,
        arguments: Arguments::Any,
        call_fields: CallFields::Removed,
        result_names: ResultNames::Removed,
        reasoning: ReasoningRule::Kept,
        reasoning_alone: false,
        media: MediaRules::ANY,
        turns: TurnRules::ANY,
        waits: |_| false,
        keeps_repeated_results: false,
    };

    /// Returns what joins the pieces of answers. Those of the dialect itself stay apart if it renders pieces that say
    /// nothing.
    pub(super) fn joiner(&self) -> AnswerJoiner {
        AnswerJoiner::new(if self.own_fields.may_be_all { self.own_fields.dialect } else { "" })
    }

    /// Reads a stored message, and passes each canonical message to which nothing is joined any more to `handle`.
    pub(super) fn read(
        &self,
        index: usize,
        message: Message,
        joiner: &mut AnswerJoiner,
        rendered: &mut Rendered,
        mut handle: impl FnMut(CanonicalMessage, &mut Rendered),
    ) {
        canonical::read_message(index, message, rendered, |message, rendered| {
            joiner.add(message, &mut |message| self.choose(message, rendered, &mut handle));
        });
    }

    /// Passes the messages that were held back to `handle`.
    pub(super) fn finish(
        &self,
        joiner: &mut AnswerJoiner,
        rendered: &mut Rendered,
        mut handle: impl FnMut(CanonicalMessage, &mut Rendered),
    ) {
        joiner.finish(&mut |message| self.choose(message, rendered, &mut handle));
    }

    /// Reduces a message to what is rendered of it, and passes it to `handle` if anything is.
    fn choose(
        &self,
        mut message: CanonicalMessage,
        rendered: &mut Rendered,
        handle: &mut impl FnMut(CanonicalMessage, &mut Rendered),
    ) {
        message.repeats_results =
            google_adk::repeats_results(&message) || claude_agent_sdk::repeats_results(&message);
        let thought = self.lower_thoughts(&mut message);
        self.own_fields.choose(&mut message);
        let has_own = self.own_fields.may_be_all && !message.provider.is_empty();
        let only_thinks = || self.reasoning_alone && message.thinks();
        if message.says_nothing() && !has_own && !only_thinks() {
            let thinks = thought || message.thinks();
            let reason = if thinks { DropReason::OnlyReasoning } else { DropReason::NullContent };
            rendered.drop(message.origin, reason);
            return;
        }
        match self.legacy_calls {
            LegacyCalls::Kept => handle(message, rendered),
            LegacyCalls::Converted => handle(message.with_call_ids(), rendered),
        }
    }

    /// Removes the images of thoughts, unless the dialect keeps what it stored of them; returns whether there were any.
    fn lower_thoughts(&self, message: &mut CanonicalMessage) -> bool {
        let keeps = self.own_fields.thoughts == Thoughts::Kept;
        if keeps && message.provider.contains_key(self.own_fields.dialect) {
            message.unmark_thoughts();
            return false;
        }
        let thought = message.remove_thoughts();
        if thought {
            message.repairs.push(Repair::ReasoningRemoved);
            // They count the stored parts.
            for fields in message.provider.values_mut().filter_map(Value::as_object_mut) {
                fields.shift_remove(CALLS_AFTER);
            }
        }
        thought
    }
}

impl OwnFields {
    /// No fields.
    const NONE: Self = Self {
        dialect: "",
        accepted: AcceptedFields::Of(&[]),
        may_be_all: false,
        may_interrupt: false,
        has_call_places: false,
        thoughts: Thoughts::Removed,
    };

    /// All fields that are stored under the name of the dialect.
    pub(in crate::dialect) const fn all_of(dialect: &'static str) -> Self {
        Self { dialect, accepted: AcceptedFields::All, ..Self::NONE }
    }

    /// Keeps the fields that are rendered, and reports that others are not.
    fn choose(&self, message: &mut CanonicalMessage) {
        let (mut removes_any, mut places) = (false, None);
        for (dialect, fields) in mem::take(&mut message.provider) {
            let Value::Object(fields) = fields else {
                // An edit removed them.
                removes_any |= dialect == self.dialect;
                continue;
            };
            if self.has_call_places && dialect != self.dialect {
                places = places.or_else(|| call_places::of_another(&dialect, &fields));
            }
            for (field, value) in fields {
                let is_accepted = match self.accepted {
                    AcceptedFields::All => true,
                    AcceptedFields::Of(fields) => fields.contains(&(message.role, &field)),
                };
                if dialect == self.dialect && is_accepted {
                    message.provider.insert(field, value);
                } else if dialect != "openai" || !show_images(message, &field, &value) {
                    // Where a message stands among the pieces of another is no loss.
                    let is_place = self.has_call_places && field == CALLS_AFTER;
                    removes_any |= field != CONTINUED && !is_place;
                }
            }
        }
        if let Some(places) = places
            && !message.provider.contains_key(CALLS_AFTER)
        {
            message.provider.insert(CALLS_AFTER.to_owned(), places);
        }
        if removes_any {
            message.repairs.push(Repair::ProviderFieldsRemoved);
        }
    }
}

/// The names that a dialect accepts.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct NameRule {
    /// The length of the longest name, in characters.
    pub(in crate::dialect) max_chars: usize,
    /// Returns whether a character may be the first of a name.
    pub(in crate::dialect) allows_first: fn(char) -> bool,
    /// Returns whether a character may follow the first of a name.
    pub(in crate::dialect) allows_later: fn(char) -> bool,
}

impl NameRule {
    /// `^[a-zA-Z0-9_-]{1,64}$`
    pub(in crate::dialect) const WORD: Self =
        Self { max_chars: 64, allows_first: is_word, allows_later: is_word };

    /// Any name.
    pub(in crate::dialect) const ANY: Self =
        Self { max_chars: usize::MAX, allows_first: |_| true, allows_later: |_| true };

    pub(super) fn accepts(&self, name: &str) -> bool {
        let mut chars = name.chars();
        chars.next().is_some_and(self.allows_first)
            && chars.all(self.allows_later)
            && (name.len() <= self.max_chars || name.chars().count() <= self.max_chars)
    }

    /// Replaces each character that is not allowed by `_`, and cuts what is too long.
    pub(super) fn replace_invalid(&self, name: &str) -> String {
        let replace = |(at, character)| {
            let allows = if at == 0 { self.allows_first } else { self.allows_later };
            if allows(character) { character } else { '_' }
        };
        name.chars().take(self.max_chars).enumerate().map(replace).collect()
    }
}

/// The ids of calls that a dialect accepts.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct CallIdRule {
    /// The length of the longest id, in characters; at least the length of a [`CallIdRule::digest`].
    pub(in crate::dialect) max_chars: usize,
    /// Returns whether an id may hold a character.
    pub(in crate::dialect) allows: fn(char) -> bool,
    pub(in crate::dialect) unique_in: UniqueIn,
}

/// Where two calls must not have the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum UniqueIn {
    Transcript,
    Message,
}

impl CallIdRule {
    /// Any id.
    pub(in crate::dialect) const ANY: Self =
        Self { max_chars: usize::MAX, allows: |_| true, unique_in: UniqueIn::Transcript };

    /// Any characters, but at most the 40 that `OpenAI` accepts.
    pub(in crate::dialect) const SHORT: Self = Self { max_chars: 40, ..Self::ANY };

    pub(super) fn accepts(&self, id: &str) -> bool {
        self.is_short(id) && id.chars().all(self.allows)
    }

    fn is_short(&self, id: &str) -> bool {
        id.len() <= self.max_chars || id.chars().count() <= self.max_chars
    }

    /// Returns an id with a suffix, or the digest of that if it is too long.
    pub(super) fn suffixed(&self, id: &str, suffix: usize) -> String {
        let suffixed = format!("{id}_{suffix}");
        if self.is_short(&suffixed) { suffixed } else { Self::digest(&suffixed) }
    }

    /// Returns the replacement for an id that is not accepted: `call_` and 32 digits of its digest.
    pub(super) fn digest(id: &str) -> String {
        let mut hasher = Hasher::default();
        hasher.field("id", &Value::from(id));
        format!("call_{}", hex(&hasher.finish()))
    }
}

/// Returns whether a character is an ASCII letter or digit, `_` or `-`.
pub(in crate::dialect) fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}
