use std::collections::HashMap;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use records::{EventId, Message};
use resume::dialect::{self, Acp, Ag2, Dialect, OpenAi, Rendered};
use resume::ingest::Check;
use resume::window::{self, WindowScan};
use resume::{Options, Repair, UnsettledPolicy, ingest, normalize};
use serde_json::{Value, json};

use crate::strategies::{content, conversation};
use crate::transcript::{
    in_pieces, in_single_chunks, log, rendered_in, stored_all, violations, without_minted_ids,
};

/// The policies whose renderings are valid.
const VALID: [UnsettledPolicy; 4] = [
    UnsettledPolicy::Remove,
    UnsettledPolicy::Settle,
    UnsettledPolicy::Trim,
    UnsettledPolicy::Reject,
];

/// The rules that a call without a result breaks. At the end, its results come next, not a turn of the user.
const OPEN_CALL: [&str; 5] =
    ["last_not_user", "unanswered_call", "missing_result", "unmatched_responses", "unsettled_call"];

proptest! {
    #[test]
    fn renderings_with_open_calls_break_no_other_rule(chat in conversation()) {
        let options = Options { unsettled: Some(UnsettledPolicy::Keep), ..Options::default() };
        for dialect in dialect::all() {
            let rendered = dialect.render(log(&chat), &options);
            let mut broken = violations(dialect, &rendered.messages);
            broken.retain(|violation| !OPEN_CALL.contains(&violation.rule));
            prop_assert_eq!(broken, [], "{:?}: {:?}", dialect, rendered.messages);
        }
    }

    #[test]
    fn renderings_break_no_rule(
        chat in conversation(),
        unsettled in prop::option::of(select(&VALID)),
        viewpoint in prop::option::of(Just("planner".to_owned())),
    ) {
        let options = Options { unsettled, viewpoint, ..Options::default() };
        for dialect in dialect::all() {
            let rendered = dialect.render(log(&chat), &options);
            prop_assert_eq!(violations(dialect, &rendered.messages), []);
        }
    }

    #[test]
    fn a_parsed_rendering_renders_the_same_again(chat in conversation()) {
        for dialect in dialect::all() {
            let first = dialect.render(log(&chat), &Options::default());
            prop_assert_eq!(&dialect.render(log(&chat), &Options::default()), &first);
            if dialect.is_export_only() {
                continue;
            }
            let parsed = dialect.parse(first.system.clone(), first.messages.clone());
            prop_assert_eq!(parsed.dropped, []);
            let second = rendered_in(dialect, parsed.messages);
            let (messages, system) = (first.messages, first.system);
            prop_assert_eq!(second, Rendered { messages, system, ..Rendered::default() });
        }
    }

    /// A rendering whose messages were dropped, doubled, moved or cut off, or with messages of another one between them, is
    /// stored all the same, and rendered validly.
    #[test]
    fn a_damaged_transcript_is_stored_and_renders_validly(
        chat in conversation(),
        other in conversation(),
        damage in prop::collection::vec((0..5_usize, any::<Index>(), any::<Index>()), 1..6),
        unsettled in prop::option::of(select(&VALID)),
    ) {
        let options = Options { unsettled, ..Options::default() };
        for dialect in dialect::all() {
            let mut messages = dialect.render(log(&chat), &Options::default()).messages;
            let others = dialect.render(log(&other), &Options::default()).messages;
            for (kind, from, to) in &damage {
                damaged(&mut messages, &others, *kind, *from, *to);
            }
            let checked = ingest::check(dialect, &messages, Check::Lenient);
            prop_assert_eq!(checked.refused, [], "{:?}: {:?}", dialect, messages);
            let mut parsed = dialect.parse(Vec::new(), messages).messages;
            for (number, message) in parsed.iter_mut().enumerate() {
                message.event_id = EventId::parse(format!("m_{number}")).ok();
            }
            let stored = stored_all(parsed);
            for target in dialect::all() {
                let rendered = target.render(stored.clone(), &options);
                prop_assert_eq!(violations(target, &rendered.messages), []);
            }
        }
    }

    /// In pieces and all at once, a transcript is the same log. Pieces of `acp` hold whole turns here: a part of a message is
    /// stored as a message.
    #[test]
    fn a_transcript_in_pieces_is_the_same_log(
        chat in conversation(),
        cuts in prop::collection::vec(any::<Index>(), 0..5),
    ) {
        for dialect in dialect::parsed() {
            let messages = dialect.render(log(&chat), &Options::default()).messages;
            let at_once = dialect.parse(Vec::new(), messages.clone()).messages;
            prop_assert_eq!(in_pieces(dialect, &messages, &cuts), at_once, "{:?}", dialect);
        }
    }

    /// Chunks of a message that come one by one are several messages, which formats show as one unless they show each stored
    /// message by itself.
    #[test]
    fn an_acp_transcript_in_chunks_has_the_same_renderings(chat in conversation()) {
        let chunks = Acp.render(log(&chat), &Options::default()).messages;
        let at_once = Acp.parse(Vec::new(), chunks.clone()).messages;
        let one_by_one = in_single_chunks(&chunks);
        for target in dialect::all().filter(|it| it.needs_scan() && it.name() != "acp") {
            let whole = without_minted_ids(rendered_in(target, at_once.clone()).messages);
            let joined = without_minted_ids(rendered_in(target, one_by_one.clone()).messages);
            prop_assert_eq!(joined, whole, "{:?}: {:?}", target, chunks);
        }
    }

    #[test]
    fn every_message_is_rendered_or_dropped(chat in conversation()) {
        let ag2 = Ag2.render(log(&chat), &Options::default());
        prop_assert_eq!(ag2.messages.len() + ag2.dropped.len(), chat.len());
        let openai = OpenAi.render(log(&chat), &Options::default());
        let parts: usize = chat.iter().map(parts_in_openai).sum();
        prop_assert_eq!(openai.messages.len() + openai.dropped.len(), parts);
    }

    #[test]
    fn the_order_is_kept(mut chat in conversation()) {
        number_the_contents(&mut chat);
        for dialect in dialect::all() {
            let rendered = dialect.render(log(&chat), &Options::default());
            // Results are moved to their calls.
            let said = rendered.messages.iter().filter(|message| message["role"] != "tool");
            let said = said.filter_map(|message| message["content"].as_str());
            let numbers: Vec<usize> = said.filter_map(|text| text.parse().ok()).collect();
            prop_assert!(numbers.is_sorted(), "{:?}", numbers);
        }
    }

    #[test]
    fn changed_names_map_to_their_originals(chat in conversation()) {
        let rendered = OpenAi.render(log(&chat), &Options::default());
        let mut uses: HashMap<&str, usize> = HashMap::new();
        for name in rendered.messages.iter().flat_map(names) {
            let original = rendered.names.get(name).map_or(name, String::as_str);
            prop_assert!(chat.iter().flat_map(names).any(|name| name == original));
            *uses.entry(name).or_default() += 1;
        }
        for repaired in &rendered.repaired {
            if let Repair::NameSanitised { original, sanitised } = &repaired.repair {
                prop_assert_eq!(&*rendered.names[&**sanitised], &**original);
                uses.entry(sanitised).and_modify(|count| *count -= 1);
            }
        }
        // A name that stands for another stands for that one alone.
        prop_assert!(rendered.names.keys().all(|name| uses[name.as_str()] == 0));
    }

    #[test]
    fn normalising_twice_is_normalising_once(mut chat in conversation(), stray in content()) {
        chat.push(stray);
        let options = Options::default();
        let (once, dropped) = normalize(&chat, &options);
        prop_assert_eq!(once.len() + dropped.len(), chat.len());
        let (twice, dropped) = normalize(once.iter().cloned().map(Value::from), &options);
        prop_assert_eq!(twice, once);
        prop_assert_eq!(dropped, []);
    }

    #[test]
    fn values_and_stored_messages_normalise_alike(chat in conversation()) {
        let options = Options::default();
        let (of_messages, dropped) = normalize(log(&chat), &options);
        let (of_values, dropped_values) = normalize(chat, &options);
        prop_assert_eq!(of_messages, of_values);
        let reasons = dropped.into_iter().map(|drop| (drop.index, drop.reason));
        prop_assert!(reasons.eq(dropped_values.into_iter().map(|drop| (drop.index, drop.reason))));
    }

    #[test]
    fn a_window_is_the_longest_suffix_that_separates_nothing(
        chat in conversation(),
        size in 0_usize..12,
    ) {
        let messages = log(&chat);
        let kept = window::newest_indices(&messages, size);
        prop_assert!(kept.len() <= size && kept.is_sorted());
        let (instructions, spoken): (Vec<usize>, Vec<usize>) =
            (0..chat.len()).partition(|&at| is_instruction(&messages[at]));
        let room = size.saturating_sub(instructions.len());
        let links = links(&chat);
        let fitting = spoken.len().saturating_sub(room)..=spoken.len();
        let whole = |start: &usize| is_whole(&spoken[*start..], &links);
        let start = fitting.into_iter().find(whole).unwrap_or(spoken.len());
        let newest = instructions.len() - instructions.len().min(size);
        let mut expected = [&instructions[newest..], &spoken[start..]].concat();
        expected.sort_unstable();
        prop_assert_eq!(&kept, &expected);
        let mut scan = WindowScan::new(size + 3);
        for message in &messages {
            scan.observe(message);
        }
        let window = scan.resized(size).into_window();
        let is_kept = |at: &usize| window.contains(*at, &messages[*at]);
        prop_assert_eq!((0..chat.len()).filter(is_kept).collect::<Vec<_>>(), kept.clone());
        let by_index: Vec<_> = kept.into_iter().map(|at| messages[at].clone()).collect();
        prop_assert_eq!(window::newest(messages, size), by_index);
    }

    #[test]
    fn any_speaker_in_the_role_is_kept(role in "[^\\pC]{1,12}", name in "\\PC{0,3}") {
        let mut messages = log(&[json!({"role": role, "name": name, "content": "x"})]);
        ingest::speaker_from_role(&mut messages[0].body);
        let kept_as_it_was = messages[0].body.role == role;
        let (_, dropped) = normalize(messages, &Options::default());
        prop_assert!(kept_as_it_was || dropped.is_empty());
    }
}

/// Damages a transcript: drops, doubles or swaps a message, inserts one of others, or cuts off those after it.
fn damaged(messages: &mut Vec<Value>, others: &[Value], kind: usize, from: Index, to: Index) {
    if kind == 4 && !others.is_empty() {
        messages.insert(to.index(messages.len() + 1), others[from.index(others.len())].clone());
    }
    if messages.is_empty() || kind == 4 {
        return;
    }
    let (from, to) = (from.index(messages.len()), to.index(messages.len()));
    match kind {
        0 => _ = messages.remove(from),
        1 => messages.insert(to, messages[from].clone()),
        2 => messages.swap(from, to),
        _ => messages.truncate(from + 1),
    }
}

/// Returns every name of a speaker or a function in a message.
fn names(message: &Value) -> impl Iterator<Item = &str> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let targets = calls.flat_map(|call| [&call["function"], &call["custom"]]);
    let named = [message, &message["function_call"]].into_iter().chain(targets);
    named.filter_map(|target| target["name"].as_str())
}

fn parts_in_openai(message: &Value) -> usize {
    let responses = message["tool_responses"].as_array().map_or(0, Vec::len);
    let holds_results = message["role"] == "tool" && message.get("deleted_at").is_none();
    if holds_results { responses.max(1) } else { 1 }
}

fn number_the_contents(chat: &mut [Value]) {
    for (index, message) in chat.iter_mut().enumerate() {
        message["content"] = json!(index.to_string());
        let responses = message.get_mut("tool_responses").and_then(Value::as_array_mut);
        for response in responses.into_iter().flatten().filter_map(Value::as_object_mut) {
            response.insert("content".to_owned(), json!(index.to_string()));
        }
    }
}

fn is_instruction(message: &Message) -> bool {
    ["system", "developer"].contains(&message.body.role.as_str())
}

/// Returns the positions of call and result of each pair, by an independent quadratic search.
fn links(chat: &[Value]) -> Vec<(usize, usize)> {
    let spoken = |at: &usize| !["system", "developer"].iter().any(|it| chat[*at]["role"] == *it);
    let mut calls: HashMap<String, Vec<usize>> = HashMap::new();
    let mut links = Vec::new();
    for at in (0..chat.len()).filter(spoken) {
        for key in keys_answered(&chat[at]) {
            links.extend(calls.get(&key).and_then(|makers| Some((*makers.last()?, at))));
        }
        for key in keys_made(&chat[at]) {
            calls.entry(key).or_default().push(at);
        }
    }
    links
}

fn keys_made(message: &Value) -> Vec<String> {
    let ids = message["tool_calls"].as_array().into_iter().flatten();
    let ids = ids.filter_map(|call| Some(format!("id {}", call["id"].as_str()?)));
    let function = message["function_call"]["name"].as_str();
    ids.chain(function.map(|name| format!("function {name}"))).collect()
}

fn keys_answered(message: &Value) -> Vec<String> {
    let several = message["tool_responses"].as_array().into_iter().flatten();
    let ids = several.chain([message]).filter_map(|it| it["tool_call_id"].as_str());
    let function = message["name"].as_str().filter(|_| message["role"] == "function");
    let ids = ids.map(|id| format!("id {id}"));
    ids.chain(function.map(|name| format!("function {name}"))).collect()
}

fn is_whole(window: &[usize], links: &[(usize, usize)]) -> bool {
    links.iter().all(|(call, result)| window.contains(call) == window.contains(result))
}
