//! Measures rendering, parsing and assembly, in messages per second on one core.

use std::hint::black_box;

use chrono::DateTime;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use records::{EventId, Message, MessageBody};
use resume::assembly::{Assembly, Stream};
use resume::dialect::{self, Dialect};
use resume::replay::ReplayScan;
use resume::{Options, normalize, window};
use serde_json::{Value, json};

const MESSAGES: usize = 10_000;

/// Short messages, of 20 to 60 characters.
fn spoken(number: usize) -> MessageBody {
    let text = format!("{number} ").repeat(30);
    let content = &text[..20 + number % 41];
    match number % 2 {
        0 => MessageBody::new("user", Some("user"), content),
        _ => MessageBody::new("assistant", Some("planner"), content),
    }
}

/// The same messages, but every other pair is a tool call and its result.
fn with_calls(number: usize) -> MessageBody {
    let mut body = spoken(number);
    let id = format!("call_{}", number / 4);
    let target = json!({"name": "look_up", "arguments": "{}"});
    match number % 4 {
        1 => {
            let call = json!({"id": id, "type": "function", "function": target});
            body.extra.insert("tool_calls".to_owned(), json!([call]));
        }
        2 => {
            "tool".clone_into(&mut body.role);
            body.extra.insert("tool_call_id".to_owned(), json!(id));
        }
        _ => {}
    }
    body
}

fn chat(body: fn(usize) -> MessageBody) -> Vec<Message> {
    let message = |number: usize| {
        let Ok(event_id) = EventId::parse(format!("evt_{number}")) else {
            unreachable!("a number makes a valid event id");
        };
        Message {
            sequence: number as u64,
            event_id,
            body: body(number),
            author: None,
            created_at: DateTime::UNIX_EPOCH,
            edited_at: None,
            edited_by: None,
            deleted_at: None,
            deleted_by: None,
            is_text_kept: false,
        }
    };
    (0..MESSAGES).map(message).collect()
}

fn as_values(chat: &[Message]) -> Vec<Value> {
    let value = |message: &Message| {
        let body = &message.body;
        json!({"role": body.role, "name": body.name, "content": body.content})
    };
    chat.iter().map(value).collect()
}

/// Measures `run` without the time to create its input and to drop its result.
fn measure<I: Clone, O>(criterion: &mut Criterion, name: &str, input: &I, run: impl Fn(I) -> O) {
    let mut group = criterion.benchmark_group("messages");
    group.throughput(Throughput::Elements(MESSAGES as u64));
    group.bench_function(name, |bencher| {
        bencher.iter_batched(
            || input.clone(),
            |input| run(black_box(input)),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

fn at_once(dialect: &dyn Dialect, messages: Vec<Message>) -> usize {
    dialect.render(messages, &Options::default()).messages.len()
}

/// Renders messages one by one, and drops each rendered message like a server that has sent it.
fn one_by_one(dialect: &dyn Dialect, messages: Vec<Message>) -> usize {
    let mut scan = ReplayScan::new(dialect, None, &Options::default());
    if scan.is_needed() {
        messages.iter().cloned().for_each(|message| scan.observe(message));
    }
    let mut replay = scan.into_replay();
    let handed_out: usize = messages.into_iter().map(|it| replay.push(it).count()).sum();
    handed_out + replay.finish().messages.len()
}

fn normalizing(criterion: &mut Criterion) {
    let chat = chat(spoken);
    let options = Options::default();
    measure(criterion, "normalize/records", &chat, |chat| normalize(chat, &Options::default()));
    let values = as_values(&chat);
    measure(criterion, "normalize/values", &values, |chat| normalize(chat, &Options::default()));
    let mut group = criterion.benchmark_group("messages");
    group.throughput(Throughput::Elements(MESSAGES as u64));
    group.bench_function("normalize/borrowed", |bencher| {
        bencher.iter_with_large_drop(|| normalize(black_box(&chat), &options));
    });
    group.finish();
}

fn windowing(criterion: &mut Criterion) {
    let chat = chat(with_calls);
    measure(criterion, "window/newest", &chat, |chat| window::newest(chat, 100));
}

fn rendering(criterion: &mut Criterion) {
    let chat = chat(with_calls);
    for dialect in dialect::all() {
        let name = dialect.name();
        measure(criterion, &format!("{name}/at_once"), &chat, |chat| at_once(dialect, chat));
        measure(criterion, &format!("{name}/one_by_one"), &chat, |chat| one_by_one(dialect, chat));
    }
}

/// Measures the validation and parsing of renderings, in messages of the dialect.
fn reading(criterion: &mut Criterion) {
    let chat = chat(with_calls);
    for dialect in dialect::all() {
        let name = dialect.name();
        let messages = dialect.render(chat.clone(), &Options::default()).messages;
        measure(criterion, &format!("{name}/validate"), &messages, |it| dialect.validate(&it));
        measure(criterion, &format!("{name}/parse"), &messages, |it| dialect.parse(Vec::new(), it));
    }
}

/// Measures the assembly of a stream, in chunks: steps of a call and a text in pieces.
fn assembling(criterion: &mut Criterion) {
    let chunk = |number: usize| match number % 20 {
        0 => json!({"type": "text-start", "id": "0"}),
        17 => json!({"type": "text-end", "id": "0"}),
        18 => json!({
            "type": "tool-input-available", "toolCallId": number.to_string(), "toolName": "f", "input": {},
        }),
        19 => {
            json!({"type": "tool-output-available", "toolCallId": (number - 1).to_string(), "output": 1})
        }
        _ => json!({"type": "text-delta", "id": "0", "delta": "word "}),
    };
    let chunks: Vec<Value> = (0..MESSAGES).map(chunk).collect();
    measure(criterion, "assembly/ui-message", &chunks, |chunks| {
        let mut assembly = Assembly::new(Stream::UiMessage, "s");
        for (position, chunk) in (0..).zip(chunks) {
            _ = assembly.push(position, chunk);
        }
        assembly.messages()
    });
}

criterion_group!(benches, normalizing, windowing, rendering, reading, assembling);
criterion_main!(benches);
