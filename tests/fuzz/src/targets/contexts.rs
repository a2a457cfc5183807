//! Changes of the context snapshot: merge patches, and the patches that say what has changed.

use serde_json::Value;

use super::Target;
use crate::input;
use crate::world::World;

pub(super) const TARGET: Target = Target { name: "contexts", check, seeds };

/// The first line is a snapshot, the rest a merge patch.
fn check(bytes: &[u8]) {
    let (before, patch) = input::line(bytes);
    let (Some(before), Some(patch)) = (input::json(before), input::json(patch)) else { return };
    if !before.is_object() {
        return;
    }
    World::lend(|app| {
        let chat = app.create_chat();
        let context = format!("{chat}/context");
        let first = app.call("PUT", &context, before.to_string().as_bytes());
        first.check(false);
        let merged = app.call("PATCH", &context, patch.to_string().as_bytes());
        merged.check(false);
        if !first.status.is_success() || !merged.status.is_success() {
            return;
        }
        assert!(patch.is_object(), "a patch is an object");
        // RFC 7386.
        let mut expected = before.clone();
        json_patch::merge(&mut expected, &patch);
        let stored = app.call("GET", &context, b"").json();
        assert_eq!(stored["context_snapshot"], expected, "it is merged as the standard says");
        for (from, to, mut data, expected) in
            [(1, 2, before.clone(), &expected), (2, 1, expected.clone(), &before)]
        {
            let answer = app.call("GET", &format!("{context}/diff?from={from}&to={to}"), b"");
            answer.check(false);
            if !answer.status.is_success() {
                continue;
            }
            // RFC 6902.
            let changes = serde_json::from_value(answer.json()["patch"].clone());
            let changes: json_patch::Patch = changes.expect("a difference is a JSON patch");
            json_patch::patch(&mut data, &changes).expect("it applies");
            assert_eq!(data, *expected, "it leads to the other version");
        }
    });
}

fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "{\"keep\": 1, \"drop\": 2, \"in\": {\"a\": [1, 2]}}\n{\"drop\": null, \"in\": {\"a\": [1, 3, 4]}, \"new\": {\"x\": null}}",
        "{\"a/b\": {\"~\": 1, \"\": [{}]}}\n{\"a/b\": {\"~\": null, \"\": [[]]}, \"~1\": {\"0\": \"-\"}}",
        "{\"$set\": {\"a.b\": 1}}\n{\"$set\": {\"a.b\": 1.0, \"$oid\": -0.0}}",
    ];
    let texts = texts.map(|text| text.as_bytes().to_vec());
    debug_assert!(
        texts
            .iter()
            .all(|it| input::json(input::line(it).0).is_some_and(|it: Value| it.is_object()))
    );
    texts.to_vec()
}
