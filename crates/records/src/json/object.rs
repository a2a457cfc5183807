/// A JSON object that keeps the order of its keys.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
