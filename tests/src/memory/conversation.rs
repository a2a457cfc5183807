use serde_json::{Value, json};

/// A conversation with tool calls, with messages of 1 to 8 KB, generated while it is written.
#[derive(Debug)]
pub(super) struct Conversation {
    exchanges: usize,
}

/// Messages that are appended together.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) messages: Vec<Value>,
    /// The size of their contents.
    pub(super) bytes: usize,
}

const EXCHANGES_IN_BATCH: usize = 4;
/// The sizes of the contents of an exchange, on average.
const EXCHANGE_BYTES: usize = 4 * (1_000 + 8_000) / 2;

impl Conversation {
    pub(super) fn of_megabytes(megabytes: usize) -> Self {
        let exchanges = megabytes * 1_000_000 / EXCHANGE_BYTES;
        Self { exchanges: exchanges.next_multiple_of(EXCHANGES_IN_BATCH) }
    }

    pub(super) fn messages(&self) -> usize {
        4 * self.exchanges
    }

    /// The number of messages in each dialect.
    pub(super) fn rendered(&self) -> [(&'static str, usize); 2] {
        [("ag2", 3 * self.exchanges), ("openai", 4 * self.exchanges)]
    }

    pub(super) fn batches(&self) -> impl Iterator<Item = Batch> + use<> {
        let starts = (0..self.exchanges).step_by(EXCHANGES_IN_BATCH);
        starts.map(|start| {
            let exchanges = start..start + EXCHANGES_IN_BATCH;
            let messages: Vec<_> = exchanges.flat_map(exchange).collect();
            let sizes = messages.iter().filter_map(|message| message["content"].as_str());
            Batch { bytes: sizes.map(str::len).sum(), messages }
        })
    }
}

fn exchange(number: usize) -> [Value; 4] {
    let id = format!("call_{number}");
    let target = json!({"name": "look_up", "arguments": "{}"});
    let call = json!({"id": id, "type": "function", "function": target});
    let said = |nth| text(4 * number + nth);
    let mut messages = [
        json!({"role": "user", "name": "user", "content": said(0)}),
        json!({"role": "assistant", "name": "planner", "content": said(1), "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": id, "content": said(2)}),
        json!({"role": "assistant", "name": "planner", "content": said(3)}),
    ];
    for (nth, message) in messages.iter_mut().enumerate() {
        message["event_id"] = json!(format!("evt_{number}_{nth}"));
    }
    messages
}

/// A text of 1 to 8 KB.
fn text(number: usize) -> String {
    let size = 1_000 + number * 2_654_435_761 % 7_001;
    let word = format!("message {number} ");
    word.repeat(size.div_ceil(word.len())).chars().take(size).collect()
}
