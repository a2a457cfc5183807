//! Streams: chunks come back as they were sent, in order and once.

use serde_json::{Value, json};

use super::Target;
use crate::input;
use crate::world::{App, World};

pub(super) const TARGET: Target = Target { name: "streams", check, seeds };

/// The first byte chooses the format. Each line is a request: `c` and chunks, `r` and chunks that are sent a second time; `a`, `t`,
/// `e` or `x` and the body of a request that appends, takes over, ends or cancels.
fn check(bytes: &[u8]) {
    let (format, rest) = input::byte(bytes);
    let format = ["text", "ui_message", "acp"][format % 3];
    World::lend(|app| {
        let chat = app.create_chat();
        let new = json!({"stream_id": "s1", "format": format});
        app.must("POST", &format!("{chat}/streams"), &new);
        let mut stream = Stream { app, path: format!("{chat}/streams/s1"), sent: Some(Vec::new()) };
        for line in rest.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(16) {
            stream.request(line[0], &line[1..]);
        }
        if let Some(sent) = &stream.sent {
            assert_eq!(stream.stored(), *sent, "chunks come back as they were sent");
        }
        for path in
            ["streams", "messages", "history?dialect=ui-message", "resume", "ui-message-stream"]
        {
            app.call("GET", &format!("{chat}/{path}"), b"").check(false);
        }
    });
}

struct Stream<'a> {
    app: &'a App<'a>,
    path: String,
    /// What was accepted; `None` once it is not known.
    sent: Option<Vec<Value>>,
}

impl Stream<'_> {
    fn request(&mut self, kind: u8, body: &[u8]) {
        let verb = match kind {
            b'c' | b'r' => {
                let from = self.sent.as_ref().map(Vec::len);
                if let (Some(Value::Array(chunks)), Some(from)) = (input::json(body), from) {
                    self.append(from, chunks, kind == b'r');
                }
                return;
            }
            b'a' => "chunks",
            b't' => "takeover",
            b'e' => "end",
            b'x' => "cancel",
            _ => return,
        };
        let answer = self.app.call("POST", &format!("{}/{verb}", self.path), body);
        answer.check(false);
        if answer.status.is_success() && verb != "cancel" {
            self.sent = None;
        }
    }

    fn append(&mut self, from: usize, chunks: Vec<Value>, is_repeated: bool) {
        let path = format!("{}/chunks", self.path);
        let body = json!({"from": from, "chunks": chunks}).to_string();
        for _ in 0..=usize::from(is_repeated) {
            let answer = self.app.call("POST", &path, body.as_bytes());
            answer.check(false);
            if !answer.status.is_success() {
                return;
            }
            assert_eq!(answer.json()["next"], from + chunks.len());
        }
        self.sent.as_mut().unwrap().extend(chunks);
    }

    /// Returns all chunks, page by page.
    fn stored(&self) -> Vec<Value> {
        let (mut stored, mut after) = (Vec::new(), String::new());
        loop {
            let page = self.app.call("GET", &format!("{}/chunks{after}", self.path), b"").json();
            let groups = page["groups"].as_array().unwrap();
            let Some(last) = groups.last() else { return stored };
            after = format!("?after={}", last["group"]);
            stored.extend(groups.iter().flat_map(|it| it["chunks"].as_array().unwrap().clone()));
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "\0c[\"The \", \"data\"]\nr[\"é\", \"\"]\ne{\"state\": \"finished\"}",
        "\0c[\"a\"]\na{\"from\": 0, \"chunks\": [\"a\", \"b\"]}\nt{\"reset\": true}\nx{}\ne{\"state\": \"cancelled\"}",
        "\x01c[{\"type\": \"start\", \"messageId\": \"m1\"}, {\"type\": \"text-delta\", \"id\": \"0\", \"delta\": \"x\"}]\nr[{\"type\": \"finish\"}]",
        "\x02c[{\"sessionUpdate\": \"agent_message_chunk\", \"content\": {\"type\": \"text\", \"text\": \"x\"}}]\ne{\"state\": \"failed\", \"error\": \"e\"}",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}
