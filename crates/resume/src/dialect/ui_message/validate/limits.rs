use serde_json::Value;

use crate::dialect::violation::Violation;
use crate::dialect::violation_list::ViolationList;

/// Returns what `convertToModelMessages` refuses although `validateUIMessages` accepts it, ordered by
/// position: it makes a `URL` of the address of each file, for which relative ones are no base.
pub(in crate::dialect::ui_message) fn violations(messages: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    for (index, message) in messages.iter().enumerate() {
        let parts = message["parts"].as_array().into_iter().flatten();
        let files = parts.filter(|part| part["type"] == "file");
        let relative = files.filter(|part| !has_scheme(part["url"].as_str().unwrap_or_default()));
        violations.extend(relative.map(|_| {
            Violation::new(
                index,
                "relative_url",
                "the URL of a file has no scheme, or nothing else",
            )
        }));
    }
    violations.into_sorted()
}

fn has_scheme(url: &str) -> bool {
    let end = url.find(|char: char| !(char.is_ascii_alphanumeric() || "+-.".contains(char)));
    let (scheme, rest) = url.split_at(end.unwrap_or(url.len()));
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && rest.len() > 1
        && rest.starts_with(':')
        && rest != "://"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_urls_of_files_are_absolute() {
        for (url, valid) in [
            ("https://example.org/a", true),
            ("data:image/png;base64,iVBO", true),
            ("blob:https://example.org/1", true),
            ("/uploads/a.png", false),
            ("a.png", false),
            ("https://", false),
            ("", false),
        ] {
            let part = json!({"type": "file", "mediaType": "image/png", "url": url});
            assert_eq!(violations(&[json!({"parts": [part]})]).is_empty(), valid, "{url}");
        }
    }
}
