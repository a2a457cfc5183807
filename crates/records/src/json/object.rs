/// A JSON object with its keys in the order given.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
