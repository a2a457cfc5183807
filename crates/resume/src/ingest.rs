//! Prepares messages before they are stored.

use std::collections::{HashMap, VecDeque};
use std::mem;

use records::json::{Hasher, hex};
use records::{DerivedId, EventId, IdSpace, Message, MessageBody, NewMessage};
use serde_json::Value;

use crate::dialect::{Dialect, Parsed, TranscriptPosition, Violation, mark_continued, ui_message};

/// The known roles; any other text in the role is the name of a speaker.
const ROLES: [&str; 6] = ["user", "assistant", "system", "developer", "tool", "function"];

/// The roles, in lower case, that mean the user.
const USER_ROLES: [&str; 4] = ["user", "userproxy", "userproxyagent", "human"];

/// Moves the name of the speaker from the role to the name, for transcripts that keep it in the role.
///
/// A message with the role "Orchestrator (-> `WebSurfer`)" gets this text as its name and the role
/// `assistant`. The roles `user`, `userproxy`, `userproxyagent` and `human`, in upper or lower case,
/// become the role `user`. A name that the message already has stays. Known roles and the empty role
/// stay unchanged.
pub fn speaker_from_role(body: &mut MessageBody) {
    if body.role.is_empty() || ROLES.contains(&body.role.as_str()) {
        return;
    }
    let is_user = USER_ROLES.contains(&body.role.to_lowercase().as_str());
    let role = if is_user { "user" } else { "assistant" };
    let speaker = std::mem::replace(&mut body.role, role.to_owned());
    if body.name.as_deref().is_none_or(str::is_empty) {
        body.name = Some(speaker);
    }
}

/// What ids begin with that are derived here.
const DERIVED: &str = "evt_";

/// How a transcript is checked before it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Check {
    /// What can be read is stored, in the order in which it happened; broken rules are noted.
    #[default]
    Lenient,
    /// A transcript that breaks a rule of its dialect is refused.
    Strict,
}

/// What the check of a transcript found, ordered by position.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Why the transcript is refused.
    pub refused: Vec<Violation>,
    /// The rules that it breaks although it is stored.
    pub noted: Vec<Violation>,
}

/// The rules that apply only if a provider is to continue the conversation: they are never reported.
///
/// A stored transcript may begin and end with any message, and its calls may have the ids of another
/// provider.
const CONTINUATION_RULES: [&str; 4] =
    ["first_not_user", "last_not_user", "missing_signature", "long_call_id"];

/// The rules about pairs, order, names, missing contents, blank texts, and unknown fields and blocks. The renderings mend what breaks them, so a log may
/// break them: a call is stored before its result exists, and a person may speak in between.
const RENDERED_RULES: [&str; 29] = [
    "blank_text",
    "both_kinds_of_calls",
    "call_not_accepted",
    "call_out_of_turn",
    "duplicate_call_id",
    "duplicate_id",
    "empty_part",
    "invalid_name",
    "missing_content",
    "missing_id",
    "missing_result",
    "mixed_responses",
    "no_messages",
    "orphan_result",
    "orphan_update",
    "part_not_accepted",
    "repeated_message",
    "result_after_text",
    "unanswered_call",
    "unknown_call",
    "unknown_field",
    "unknown_parent",
    "unmatched_responses",
    "unpaired_server_tool",
    "system_message",
    "unfollowed_reasoning",
    "unknown_block",
    "unsettled_call",
    "unsigned_thinking",
];

/// Checks a transcript against the rules of its dialect.
///
/// Only the first violations are found if there are very many. A transcript that is only stored need not follow the rules
/// about the first and the last speaker, about the signatures that a provider requires to continue, and about the length
/// of call ids.
pub fn check(dialect: &dyn Dialect, messages: &[Value], check: Check) -> Checked {
    let mut violations = dialect.validate(messages);
    violations.extend(dialect.waiting(messages));
    violations.sort_by_key(|violation| violation.index);
    violations.retain(|violation| !CONTINUATION_RULES.contains(&violation.rule));
    let is_noted =
        |violation: &Violation| check == Check::Lenient && RENDERED_RULES.contains(&violation.rule);
    let (noted, refused) = violations.into_iter().partition(is_noted);
    Checked { refused, noted }
}

/// Returns the ids of messages that have none; `None` for those that have one.
///
/// An id is derived from `seed`, from the message and from all messages before it. So a transcript
/// that is sent again, even with more messages at its end, gets the same ids, and its messages are
/// stored once.
pub fn derive_event_ids(seed: &str, messages: &[NewMessage]) -> Vec<Option<DerivedId>> {
    let mut previous = Value::from(seed);
    let derive = |message: &NewMessage| {
        let mut hasher = Hasher::default();
        hasher.field("before", &previous);
        hasher.field("message", &hex(&message.body.digest()).into());
        let digest = hasher.finish();
        previous = hex(&digest).into();
        message.event_id.is_none().then(|| DerivedId { prefix: DERIVED.into(), digest })
    };
    messages.iter().map(derive).collect()
}

/// Gives each message that has none the id that [`derive_event_ids`] derives, as it is in a chat.
pub fn assign_event_ids(seed: &str, space: &IdSpace, messages: &mut [NewMessage]) {
    let derived = derive_event_ids(seed, messages);
    for (message, derived) in messages.iter_mut().zip(derived) {
        if let Some(derived) = derived {
            message.event_id = Some(derived.in_space(space));
        }
    }
}

/// Parses a piece of a transcript whose beginning is in a log; `newest` are the newest messages of it.
pub fn parse_piece(
    dialect: &dyn Dialect,
    system: Vec<Value>,
    messages: Vec<Value>,
    newest: &[Message],
) -> Parsed {
    let mut whole = dialect.context_of(newest);
    let skipped = whole.len();
    whole.extend(messages);
    let mut parsed = dialect.parse(system, whole);
    let shifted = |position: &TranscriptPosition| match position {
        TranscriptPosition::Message(index) => {
            index.checked_sub(skipped).map(TranscriptPosition::Message)
        }
        TranscriptPosition::System(_) => Some(*position),
    };
    let kept = parsed.messages.into_iter().zip(&parsed.positions);
    let kept = kept.filter_map(|(message, position)| Some((message, shifted(position)?)));
    (parsed.messages, parsed.positions) = kept.collect();
    parsed.dropped.retain_mut(|dropped| {
        let index = dropped.index.checked_sub(skipped);
        dropped.index = index.unwrap_or_default();
        index.is_some()
    });
    parsed
}

/// Gives an event id to each message that one with an id has become: to its results, and to its further steps.
///
/// The id is derived from that of the first one and from the call that is answered, or the number of the step. So a message
/// that is sent again with more in it stores only what is new.
pub fn assign_step_ids(parsed: &mut Parsed) {
    let mut first: Option<(TranscriptPosition, EventId)> = None;
    let mut steps = 0;
    // A model that counts its calls gives the same id to calls of several steps.
    let mut answered: HashMap<String, u64> = HashMap::new();
    for (message, position) in parsed.messages.iter_mut().zip(&parsed.positions) {
        let own = first.as_ref().filter(|(at, _)| at == position && message.event_id.is_none());
        let Some((_, id)) = own else {
            first = message.event_id.clone().map(|id| (*position, id));
            steps = 0;
            answered.clear();
            continue;
        };
        let mut hasher = Hasher::default();
        hasher.field("message", &id.as_str().into());
        if let Some(call_id) = answered_call(&message.body) {
            hasher.field("result", call_id);
            let before = answered.entry(call_id.to_string()).or_default();
            if *before > 0 {
                hasher.field("again", &(*before).into());
            }
            *before += 1;
        } else {
            steps += 1;
            hasher.field("step", &steps.into());
        }
        message.event_id = derived_id(&hex(&hasher.finish()));
    }
}

/// Makes UI messages the rest of a stored one: the results of its calls, and its further steps.
///
/// The first `ended` messages hold calls that the stored message has; only their results remain.
pub fn continue_answer(parsed: &mut Parsed, ended: usize) {
    let is_ended = |position: &TranscriptPosition| match position {
        TranscriptPosition::Message(index) => *index < ended,
        TranscriptPosition::System(_) => false,
    };
    let (messages, positions) = (mem::take(&mut parsed.messages), mem::take(&mut parsed.positions));
    for (mut message, position) in messages.into_iter().zip(positions) {
        let is_result = message.body.role == "tool";
        if is_ended(&position) && !is_result {
            continue;
        }
        message.event_id = None;
        if !is_result {
            ui_message::mark_step(&mut message.body);
        }
        parsed.messages.push(message);
        parsed.positions.push(position);
    }
}

/// The ids of what follows a stored message as part of it: its results and its further steps.
///
/// A message that was stored as a turn has steps with the ids of the turn, which [`assign_step_ids`] does not know.
#[derive(Debug, Default)]
pub struct StoredSteps {
    /// By the calls that they answer.
    results: HashMap<String, VecDeque<EventId>>,
    /// Where each call is answered first, as a place behind the message.
    answered_at: HashMap<String, usize>,
    /// Each with its place.
    steps: VecDeque<(usize, EventId)>,
}

impl StoredSteps {
    /// Reads the messages behind one, up to the first that is no part of it.
    pub fn of(dialect: &dyn Dialect, behind: &[Message]) -> Self {
        let mut stored = Self::default();
        for (place, Message { event_id, body, .. }) in behind.iter().enumerate() {
            let own = body.extra.get(MessageBody::PROVIDER).and_then(|it| it.get(dialect.name()));
            if let Some(call_id) = answered_call(body).filter(|_| body.role == "tool") {
                stored.results.entry(call_id.to_string()).or_default().push_back(event_id.clone());
                stored.answered_at.entry(call_id.to_string()).or_insert(place);
            } else if own.is_some_and(|own| own["continues"] == true) {
                stored.steps.push_back((place, event_id.clone()));
            } else {
                break;
            }
        }
        stored
    }

    /// Gives these ids to what follows the message at an index as part of it; what is new keeps its id.
    pub fn adopt(mut self, parsed: &mut Parsed, first: usize) {
        let position = parsed.positions[first];
        let parts = parsed.messages.iter_mut().zip(&parsed.positions).skip(first + 1);
        for (message, _) in parts.take_while(|(_, at)| **at == position) {
            let stored = match answered_call(&message.body) {
                Some(call_id) => {
                    self.results.get_mut(&call_id.to_string()).and_then(VecDeque::pop_front)
                }
                // A release that joined the calls of several steps has stored it with an earlier one, and its id is that of a result.
                None if self.is_joined(&message.body) => message.event_id.as_ref().and_then(|id| {
                    let mut hasher = Hasher::default();
                    hasher.field("joined", &id.as_str().into());
                    derived_id(&hex(&hasher.finish()))
                }),
                None => self.steps.pop_front().map(|(_, id)| id),
            };
            message.event_id = stored.or(message.event_id.take());
        }
    }
}

impl StoredSteps {
    /// Returns whether the calls of a step were answered before the next stored step.
    fn is_joined(&self, step: &MessageBody) -> bool {
        let Some((next, _)) = self.steps.front() else { return false };
        let calls = step.extra.get("tool_calls").and_then(Value::as_array);
        let answered = |call: &Value| self.answered_at.get(&call["id"].to_string());
        calls.into_iter().flatten().filter_map(answered).any(|place| place < next)
    }
}

/// Makes a message one that continues the stored message with its id, for dialects in which messages
/// [continue](crate::dialect::Resent::Continues). Returns whether it was not one already.
///
/// A request with an id always gives it the same new id; otherwise it has none.
pub fn continue_message(
    dialect: &dyn Dialect,
    message: &mut NewMessage,
    request_id: Option<&EventId>,
) -> bool {
    let Some(id) = message.event_id.take() else { return false };
    message.event_id = request_id.and_then(|request_id| {
        let mut hasher = Hasher::default();
        hasher.field("message", &id.as_str().into());
        hasher.field("request", &request_id.as_str().into());
        derived_id(&hex(&hasher.finish()))
    });
    mark_continued(&mut message.body, dialect.name(), &id)
}

/// Returns the event id that a digest makes.
fn derived_id(digest: &str) -> Option<EventId> {
    EventId::parse(format!("{DERIVED}{digest}")).ok()
}

/// Returns the id of the call that a message answers.
fn answered_call(body: &MessageBody) -> Option<&Value> {
    let of_first = || body.extra.get("tool_responses")?.get(0)?.get("tool_call_id");
    body.extra.get("tool_call_id").or_else(of_first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(role: &str, name: Option<&str>) -> (String, Option<String>) {
        let mut body = MessageBody::new(role, name, "x");
        speaker_from_role(&mut body);
        (body.role, body.name)
    }

    fn pair(role: &str, name: &str) -> (String, Option<String>) {
        (role.to_owned(), Some(name.to_owned()))
    }

    #[test]
    fn a_speaker_in_the_role_becomes_the_name() {
        let thought = "Orchestrator (thought)";
        assert_eq!(moved(thought, None), pair("assistant", thought));
        assert_eq!(moved(thought, Some("")), pair("assistant", thought));
        assert_eq!(moved("UserProxy", None), pair("user", "UserProxy"));
        assert_eq!(moved("Assistant", None), pair("assistant", "Assistant"));
    }

    fn assigned_ids(seed: &str, contents: &[&str]) -> Vec<EventId> {
        let message = |text: &&str| MessageBody::new("user", None, *text).into();
        let mut messages: Vec<NewMessage> = contents.iter().map(message).collect();
        assign_event_ids(seed, &IdSpace::default(), &mut messages);
        messages.into_iter().filter_map(|message| message.event_id).collect()
    }

    #[test]
    fn a_transcript_that_has_grown_keeps_its_ids() {
        let first = assigned_ids("", &["yes", "yes"]);
        assert_ne!(first[0], first[1]);
        assert_eq!(assigned_ids("", &["yes", "yes", "no"])[..2], first);
        assert_ne!(assigned_ids("", &["no", "yes"])[1], first[1]);
        assert_ne!(assigned_ids("turn_2", &["yes", "yes"])[0], first[0]);
    }

    #[test]
    fn a_given_id_stays() {
        let given = EventId::parse("m1").ok();
        let body = MessageBody::new("user", None, "yes");
        let mut messages = [NewMessage { event_id: given.clone(), ..body.into() }];
        assign_event_ids("", &IdSpace::default(), &mut messages);
        assert_eq!(messages[0].event_id, given);
    }

    #[test]
    fn a_given_name_stays() {
        assert_eq!(moved("human", Some("Zoë")), pair("user", "Zoë"));
        assert_eq!(moved("ai", Some("user")), pair("assistant", "user"));
    }

    #[test]
    fn known_roles_stay() {
        for role in ROLES {
            assert_eq!(moved(role, None), (role.to_owned(), None));
        }
        assert_eq!(moved("", None), (String::new(), None));
    }
}
