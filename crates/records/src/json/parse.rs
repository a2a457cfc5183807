use serde_json::Value;

use super::parse_error::ParseError;
use super::scan::scan;

/// Parses JSON without silent losses, and in bounded memory.
///
/// Refuses what [`scan`] refuses.
pub fn parse(text: &[u8]) -> Result<Value, ParseError> {
    scan(text, &[])?;
    serde_json::from_slice(text).map_err(ParseError::Syntax)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer_of_refusal(text: &str) -> String {
        match parse(text.as_bytes()) {
            Err(ParseError::Refused(invalid)) => invalid.location.to_string(),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn numbers_that_would_be_rounded_are_refused_with_their_pointer() {
        for number in ["9223372036854775808", "123456789012345678901234567890", "1e-400"] {
            let text = format!(r#"{{"a": [0, {{"b\"": {number}}}]}}"#);
            assert_eq!(pointer_of_refusal(&text), "/a/1/b\"", "{number}");
        }
        assert_eq!(pointer_of_refusal("[0.1234567890123456789]"), "/0");
    }

    #[test]
    fn exact_numbers_are_accepted() {
        for number in ["0", "-9223372036854775808", "0.30000000000000004", "1e21", "-0.0", "0.000"]
        {
            assert!(parse(number.as_bytes()).is_ok(), "{number}");
        }
        assert!(parse(b"1e400").is_err());
    }

    #[test]
    fn repeated_keys_are_refused_in_any_notation() {
        assert_eq!(pointer_of_refusal(r#"{"x": {"a": 1, "\u0061": 2}}"#), "/x/a");
        assert!(parse(br#"[{"a": "a"}, {"a": {"a": 1}}]"#).is_ok());
    }

    #[test]
    fn deep_nesting_is_refused_by_our_own_limit() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(parse(deep(60).as_bytes()).is_ok());
        assert!(matches!(parse(deep(100).as_bytes()), Err(ParseError::Refused(_))));
        assert!(matches!(parse(deep(10_000).as_bytes()), Err(ParseError::Refused(_))));
    }

    #[test]
    fn broken_text_is_a_syntax_error() {
        for text in ["", "{", "[1,]", "\"\\u12\"", "NaN"] {
            assert!(matches!(parse(text.as_bytes()), Err(ParseError::Syntax(_))), "{text}");
        }
    }
}
