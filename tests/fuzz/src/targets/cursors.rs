//! Cursors of lists: a text that no response has had is refused, or at least has the only form in which its position is written.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::Target;
use crate::input;
use crate::world::{OPERATIONS, Operation, World, encoded, operation};

pub(super) const TARGET: Target = Target { name: "cursors", check, seeds };

/// The first line is the id of the operation. The rest is the cursor if it begins with `=`, and what is encoded in one otherwise.
fn check(bytes: &[u8]) {
    let (id, rest) = input::line(bytes);
    let Some(operation) = operation(id).filter(|it| has_cursor(it)) else { return };
    let text = match rest.strip_prefix(b"=") {
        Some(text) => text.to_vec(),
        None => URL_SAFE_NO_PAD.encode(rest).into_bytes(),
    };
    World::lend(|app| {
        app.create_chat();
        let path = app.path_of(operation, None);
        let list = |cursor: &[u8]| {
            let answer = app.call("GET", &format!("{path}?cursor={}", encoded(cursor)), b"");
            answer.check(false);
            answer
        };
        let answer = list(&text);
        let text = str::from_utf8(&text).unwrap_or("");
        if !answer.status.is_success() {
            if answer.json()["code"] == "invalid-request" {
                assert_eq!(answer.json()["errors"][0]["parameter"], "cursor");
            }
        } else if list(b"name").status.is_success() {
            // The cursors of this list are ids or names, which may be any text.
        } else if let Ok(number) = text.parse::<u64>() {
            assert_eq!(number.to_string(), text, "in its only form");
        } else {
            let Ok(plain) = URL_SAFE_NO_PAD.decode(text) else { return };
            let Some((position, _)) = str::from_utf8(&plain).ok().and_then(|it| it.split_once(' '))
            else {
                return;
            };
            assert_eq!(URL_SAFE_NO_PAD.encode(&plain), text, "in its only form");
            let number = position.trim_start_matches(['a', 's', 't']);
            let Ok(number) = number.parse::<i128>() else { return };
            assert!(position.ends_with(&number.to_string()), "in its only form: {position}");
        }
    });
}

fn has_cursor(operation: &Operation) -> bool {
    let has = |name: &str| operation.parameters.iter().any(|it| it == name);
    // A search has a query beside its cursor.
    !operation.is_foreign && has("cursor") && operation.id != "search_messages"
}

fn seeds() -> Vec<Vec<u8>> {
    let plain = [
        "1759399200123 c1",
        "a1759399200123 c1",
        "t5 trips c1",
        "s-5 c1",
        "1759399200123 2 c1q1",
        "-7 8 c1",
        "12 3",
    ];
    let raw = ["=12", "=", "=MTIgYw", "=MTIgYw=="];
    let lists: Vec<&Operation> = OPERATIONS.iter().filter(|it| has_cursor(it)).collect();
    let of = |text: &str| {
        lists.iter().map(|list| format!("{}\n{text}", list.id).into_bytes()).collect::<Vec<_>>()
    };
    plain.iter().chain(&raw).flat_map(|text| of(text)).collect()
}
