use std::sync::LazyLock;

use serde_json::{Value, json};

/// Generates the messages of one client.
#[derive(Debug)]
pub(super) struct Pen {
    client: u32,
    written: u64,
}

/// The longest text.
const LONGEST: usize = 64 << 10;

/// Text that compresses little, from which pieces are cut.
static TEXT: LazyLock<String> = LazyLock::new(|| {
    let mut rng = fastrand::Rng::with_seed(42);
    let words = std::iter::repeat_with(|| format!("{:x}é ", rng.u32(..)));
    words.take(2 * LONGEST / 8).collect()
});

impl Pen {
    pub(super) fn new(client: u32) -> Self {
        Self { client, written: 0 }
    }

    /// Generates another message of a given size.
    pub(super) fn message_of(&mut self, bytes: usize) -> Value {
        let event_id = self.event_id();
        let text = &TEXT[..TEXT.floor_char_boundary(bytes)];
        let name = format!("writer_{}", self.client);
        let content = format!("{event_id} {text}");
        json!({ "event_id": event_id, "role": "assistant", "name": name, "content": content })
    }

    fn event_id(&mut self) -> String {
        self.written += 1;
        format!("evt-{}-{}", self.client, self.written)
    }

    /// Generates another message: text, or a structure whose keys are special to a database.
    pub(super) fn message(&mut self, rng: &mut fastrand::Rng) -> Value {
        let event_id = self.event_id();
        let number = self.written;
        let text = text(rng);
        let content = if rng.u8(..5) == 0 {
            let odd = json!({ "$set": { "a.b": number }, "": null, "half": 0.5 });
            json!({ "event_id": event_id, "text": text, "odd": odd })
        } else {
            json!(format!("{event_id} {text}"))
        };
        let mut message = json!({
            "event_id": event_id,
            "role": if rng.bool() { "assistant" } else { "user" },
            "name": format!("writer_{}", self.client),
            "content": content,
        });
        if rng.u8(..3) == 0 {
            message["metadata"] = json!({ "turn": number, "$where": "1" });
        }
        message
    }
}

/// A text of 200 bytes to 64 KiB, usually short.
fn text(rng: &mut fastrand::Rng) -> &'static str {
    let bytes = match rng.u8(..100) {
        0..80 => rng.usize(200..2_000),
        80..95 => rng.usize(2_000..16_000),
        _ => rng.usize(16_000..LONGEST),
    };
    let start = TEXT.floor_char_boundary(rng.usize(..LONGEST));
    &TEXT[start..TEXT.floor_char_boundary(start + bytes)]
}
