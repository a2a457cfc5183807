//! Random JSON, biased towards values that a careless store changes.

use proptest::prelude::*;
use records::JsonObject;
use serde_json::Value;

use super::poison;

/// Generates any storable JSON value, at most four levels deep.
pub fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        2 => prop::sample::select(poison::values()),
        1 => any::<i64>().prop_map(Value::from),
        1 => finite_float().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            object_of(inner).prop_map(Value::Object),
        ]
    })
}

/// Generates any storable JSON object.
pub fn json_object() -> impl Strategy<Value = JsonObject> {
    object_of(json_value())
}

/// Generates any storable key.
pub fn json_key() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => prop::sample::select(poison::KEYS.as_slice()).prop_map(str::to_owned),
        1 => any::<String>().prop_map(|key| key.replace('\0', "")),
    ]
}

fn object_of(value: impl Strategy<Value = Value>) -> impl Strategy<Value = JsonObject> {
    prop::collection::vec((json_key(), value), 0..4)
        .prop_map(|entries| entries.into_iter().collect())
}

fn finite_float() -> impl Strategy<Value = f64> {
    use prop::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO
}
