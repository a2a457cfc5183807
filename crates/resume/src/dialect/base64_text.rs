//! Bytes as text in base64.

use base64::Engine as _;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

const ANY_PADDING: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// Returns whether a text is base64 in either alphabet, with or without padding.
pub(super) fn is_base64(text: &str) -> bool {
    [&STANDARD, &URL_SAFE].into_iter().any(|alphabet| decode(alphabet, text).is_some())
}

/// Writes the bytes of a field in the standard alphabet with padding, unless the field holds none.
pub(super) fn normalise(object: &mut Map<String, Value>, field: &str) {
    if let Some(Value::String(text)) = object.get_mut(field)
        && let Some(standard) = to_standard(text)
    {
        *text = standard;
    }
}

/// Returns the same bytes in the standard alphabet with padding; `None` if the text is no base64 in either alphabet.
fn to_standard(text: &str) -> Option<String> {
    let bytes = decode(&STANDARD, text).or_else(|| decode(&URL_SAFE, text))?;
    Some(base64::prelude::BASE64_STANDARD.encode(bytes))
}

fn decode(alphabet: &Alphabet, text: &str) -> Option<Vec<u8>> {
    GeneralPurpose::new(alphabet, ANY_PADDING).decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_alphabet_becomes_the_standard_one() {
        let cases = [
            ("-_8=", Some("+/8=")),
            ("-_8", Some("+/8=")),
            ("+/8=", Some("+/8=")),
            ("", Some("")),
            ("+_8=", None),
            ("a", None),
            ("?", None),
        ];
        for (text, standard) in cases {
            assert_eq!(to_standard(text).as_deref(), standard, "{text}");
            assert_eq!(is_base64(text), standard.is_some(), "{text}");
        }
    }
}
