//! JSON that a careless store changes, refuses or evaluates.

use serde_json::{Value, json};

/// Keys with a meaning for a database, a path syntax, a driver or a parser.
pub const KEYS: [&str; 52] = [
    // Unusual forms of keys.
    "",
    " ",
    "\n",
    "\"",
    "\\",
    "/",
    "~1",
    "0",
    "00",
    "-1",
    "[]",
    "__proto__",
    "ä",
    "e\u{301}",
    "\u{e9}",
    "\u{feff}",
    "\u{202e}",
    "\u{ffff}",
    "\u{1f600}",
    // Paths and operators of MongoDB.
    ".",
    "..",
    "a.b",
    ".a",
    "a.",
    "$",
    "$$",
    "$.",
    "$[]",
    "a$b",
    "$a.$b",
    "$set",
    "$where",
    "$each",
    "$literal",
    "$ref",
    "$id",
    // Extended JSON, and keys that drivers and parsers reserve.
    "$oid",
    "$date",
    "$numberLong",
    "$numberDecimal",
    "$binary",
    "$code",
    "$undefined",
    "$__private__bson_RawBson",
    "$__bson_private_uuid",
    "$serde_json::private::Number",
    "$serde_json::private::RawValue",
    // Field names of stored documents.
    "_id",
    "sequence",
    "messages",
    "last_sequence",
    "schema_version",
];

/// Values that resemble other types, lie at a limit, or look like expressions.
pub fn values() -> Vec<Value> {
    [extended_json(), expressions(), numbers(), texts(), shapes()].concat()
}

fn extended_json() -> Vec<Value> {
    let oid = "6507f1b2e4b0c8a9d2f3e4a5";
    vec![
        json!({"$oid": oid}),
        json!({"$oid": "zz"}),
        json!({"$oid": oid, "more": 1}),
        json!({"$date": "2026-01-01T00:00:00Z"}),
        json!({"$date": {"$numberLong": "0"}}),
        json!({"$date": "never"}),
        json!({"$numberLong": "5"}),
        json!({"$numberInt": "x"}),
        json!({"$numberDouble": "NaN"}),
        json!({"$numberDecimal": "1.10"}),
        json!({"$numberDecimalBytes": "AAAA"}),
        json!({"$binary": {"base64": "AA==", "subType": "04"}}),
        json!({"$binary": "AA==", "$type": "00"}),
        json!({"$uuid": "c8edabc3-f738-4ca3-b68d-ab92a91478a3"}),
        json!({"$code": "f()"}),
        json!({"$code": "f()", "$scope": {"a": 1}}),
        json!({"$symbol": "s"}),
        json!({"$undefined": true}),
        json!({"$minKey": 1}),
        json!({"$maxKey": 1}),
        json!({"$timestamp": {"t": 1, "i": 2}}),
        json!({"$regularExpression": {"pattern": "(", "options": "zz"}}),
        json!({"$regex": "^a", "$options": "i"}),
        json!({"$dbPointer": {"$ref": "a.b", "$id": {"$oid": oid}}}),
        json!({"$ref": "chat_sessions", "$id": 1}),
        json!({"$__private__bson_RawBson": [1]}),
        json!({"$__private__bson_RawDocument": [5, 0, 0, 0, 0]}),
        json!({"$serde_json::private::Number": "1"}),
        json!({"$serde_json::private::RawValue": "[1]"}),
    ]
}

fn expressions() -> Vec<Value> {
    vec![
        json!("$last_sequence"),
        json!("$$ROOT"),
        json!("$messages.content"),
        json!({"$function": {"body": "function() { return 1 }", "args": [], "lang": "js"}}),
        json!({"$where": "sleep(1000)"}),
        json!({"$each": [1, 2]}),
        json!({"$set": {"status": 3}}),
        json!({"$literal": 1}),
        json!({"$gt": ""}),
        json!(["$status", {"$ne": null}]),
    ]
}

fn numbers() -> Vec<Value> {
    vec![
        json!(0),
        json!(i64::from(i32::MAX) + 1),
        json!(i64::MAX),
        json!(i64::MIN),
        json!((1_i64 << 53) + 1),
        json!(1.0),
        json!(-0.0),
        json!(0.300_000_000_000_000_04),
        json!(1e21),
        json!(f64::MAX),
        json!(f64::MIN_POSITIVE),
        json!(5e-324),
        json!([1, 1.0, "1", true]),
    ]
}

fn texts() -> Vec<Value> {
    vec![
        json!(""),
        json!("\0"),
        json!("a\0b"),
        json!("\r\n\t\u{7f}\u{85}\u{2028}"),
        json!("e\u{301} is not \u{e9}"),
        json!("\u{feff}\u{202e}\u{ffff}\u{10ffff}\u{1f469}\u{200d}\u{1f680}"),
        json!("{\"$oid\": \"zz\"}"),
        json!("null"),
    ]
}

fn shapes() -> Vec<Value> {
    let keys = KEYS.map(|key| (key.to_owned(), json!({key: key})));
    vec![
        json!(null),
        json!([]),
        json!({}),
        json!({"": {"": [{"": ""}]}}),
        json!([null, [null], [[]], {}]),
        json!({"b": 1, "a": 2, "0": 3}),
        Value::Object(keys.into_iter().collect()),
        // Leaves room for the levels that the tests add around it.
        super::fixture::nested(50),
    ]
}
