use serde_json::Value;

use crate::dialect::checks::is_fetched;
use crate::dialect::gemini::GeminiApi;
use crate::dialect::violation::{Problem, Violation};
use crate::dialect::violation_list::ViolationList;

/// Returns what the API refuses although its schema allows it, ordered by position.
pub(in crate::dialect::gemini) fn violations(api: GeminiApi, contents: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    if contents.is_empty() {
        violations.push(Violation::new(0, "no_messages", "there are no contents"));
    }
    for (index, content) in contents.iter().enumerate() {
        let parts = content["parts"].as_array().into_iter().flatten();
        let in_responses = parts
            .clone()
            .flat_map(|part| part["functionResponse"]["parts"].as_array().into_iter().flatten());
        // The output of a function refers to its media by their names.
        let names = parts.clone().filter_map(|part| name_problem(api, part));
        let problems = parts.chain(in_responses).filter_map(|part| part_problem(api, part));
        let problems = names.chain(problems);
        violations.report(index, problems);
    }
    violations.into_sorted()
}

fn name_problem(api: GeminiApi, part: &Value) -> Option<Problem> {
    let has_name = |field: &str| part[field].get("displayName").is_some();
    // googleapis/python-genai#951.
    let is_refused =
        api == GeminiApi::Developer && ["inlineData", "fileData"].into_iter().any(has_name);
    is_refused.then(|| ("named_data", "inline data or a file has a name".to_owned()))
}

fn part_problem(api: GeminiApi, part: &Value) -> Option<Problem> {
    if let Some(blob) = part.get("inlineData") {
        let media_type = blob["mimeType"].as_str().unwrap_or_default().to_lowercase();
        let plain = media_type.split(';').next().unwrap_or_default();
        let detail = || format!("the media type {plain:?} is not supported");
        return (!is_supported(plain)).then(|| ("invalid_media_type", detail()));
    }
    let schemes: &[&str] = match api {
        GeminiApi::Developer => &["https", "http"],
        GeminiApi::Vertex => &["https", "http", "gs"],
    };
    let file = part.get("fileData")?;
    if !is_fetched(file["fileUri"].as_str().unwrap_or_default(), schemes) {
        return Some(("invalid_url", "a URI is not one that the API fetches".to_owned()));
    }
    let media_type = file["mimeType"].as_str().unwrap_or_default().trim();
    let detail = || "a file at a URI has no media type".to_owned();
    let lacks_type = api == GeminiApi::Vertex && media_type.is_empty();
    lacks_type.then(|| ("missing_media_type", detail()))
}

/// The guides of the API on images, audio, video and documents list the types.
fn is_supported(media_type: &str) -> bool {
    let images = ["png", "jpeg", "webp", "heic", "heif"];
    match media_type.split_once('/') {
        Some(("image", kind)) => images.contains(&kind),
        Some(("audio" | "video" | "text", _)) => true,
        _ => media_type == "application/pdf",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(api: GeminiApi, part: &Value) -> Vec<&'static str> {
        let contents = [json!({"role": "user", "parts": [part]})];
        let found = violations(api, &contents);
        let response = json!({"functionResponse": {"name": "f", "response": {}, "parts": [part]}});
        let in_response = violations(api, &[json!({"role": "user", "parts": [response]})]);
        let unnamed = found.iter().filter(|violation| violation.rule != "named_data");
        assert!(unnamed.eq(&in_response));
        found.into_iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn media_are_checked() {
        let named =
            json!({"inlineData": {"mimeType": "image/png", "data": "", "displayName": "a"}});
        assert_eq!(rules(GeminiApi::Developer, &named), ["named_data"]);
        assert_eq!(rules(GeminiApi::Vertex, &named), [] as [&str; 0]);
        let named = json!({"fileData": {"fileUri": "https://example.org/a.png", "mimeType": "image/png", "displayName": "a"}});
        assert_eq!(rules(GeminiApi::Developer, &named), ["named_data"]);
        assert_eq!(rules(GeminiApi::Vertex, &named), [] as [&str; 0]);
        for (media_type, valid) in [
            ("image/webp", true),
            ("image/gif", false),
            ("image/svg+xml", false),
            ("audio/L16;rate=24000", true),
            ("text/csv", true),
            ("application/pdf", true),
            ("application/zip", false),
        ] {
            let part = json!({"inlineData": {"mimeType": media_type, "data": ""}});
            assert_eq!(rules(GeminiApi::Developer, &part).is_empty(), valid, "{media_type}");
        }
        for (uri, developer, vertex) in [
            ("https://example.org/a.png", true, true),
            ("gs://bucket/a.png", false, true),
            ("/uploads/a.png", false, false),
            ("https://example.org/a.svg", false, false),
        ] {
            let part = json!({"fileData": {"fileUri": uri, "mimeType": "image/png"}});
            assert_eq!(rules(GeminiApi::Developer, &part).is_empty(), developer, "{uri}");
            assert_eq!(rules(GeminiApi::Vertex, &part).is_empty(), vertex, "{uri}");
        }
        let bare = json!({"fileData": {"fileUri": "https://example.org/a.png", "mimeType": " "}});
        assert_eq!(rules(GeminiApi::Developer, &bare), [] as [&str; 0]);
        assert_eq!(rules(GeminiApi::Vertex, &bare), ["missing_media_type"]);
        assert_eq!(violations(GeminiApi::Vertex, &[])[0].rule, "no_messages");
    }
}
