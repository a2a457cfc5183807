use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::MessageBody;

/// The most characters of a word; what follows is left out.
pub const MAX_WORD_CHARS: usize = 32;

/// The most different words of a message that are found.
pub const MAX_INDEXED_WORDS: usize = 1_000;

/// How deep content is looked into.
const MAX_DEPTH: usize = 8;

/// Returns what a message says: its content, if that is text, or the texts within it. A message without content says what its
/// content blocks or its properties say.
#[must_use]
pub fn said(body: &MessageBody) -> String {
    let mut texts = Vec::new();
    add_texts(&body.content, MAX_DEPTH, &mut texts);
    for field in ["content_blocks", MessageBody::PROPS] {
        if texts.is_empty()
            && let Some(value) = body.extra.get(field)
        {
            add_texts(value, MAX_DEPTH, &mut texts);
        }
    }
    texts.join("\n")
}

/// Adds the texts of a value: of an object those of its fields `text` and `content`.
fn add_texts<'a>(value: &'a Value, depth: usize, texts: &mut Vec<&'a str>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| add_texts(value, depth, texts)),
        Value::Object(fields) => {
            let said = ["text", "content"].into_iter().filter_map(|name| fields.get(name));
            said.for_each(|value| add_texts(value, depth, texts));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the words under which a text is found: those of the text in lower case, and for scripts without spaces every two
/// characters that follow one another, and the last one.
#[must_use]
pub fn search_words(text: &str) -> Vec<String> {
    let (mut seen, mut words) = (HashSet::new(), Vec::new());
    for token in Tokens::of(text) {
        for word in token.words() {
            if words.len() == MAX_INDEXED_WORDS {
                return words;
            }
            if seen.insert(word.clone()) {
                words.push(word);
            }
        }
    }
    words
}

/// A word of a text, or characters of a script without spaces.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word {
        /// In lower case, and no longer than a word may be.
        text: String,
        /// Where it stands in the text, in characters.
        at: Range<usize>,
    },
    /// Each character with its place in the text, that of its marks included.
    Run(Vec<(char, Range<usize>)>),
}

impl Token {
    fn words(&self) -> Vec<String> {
        match self {
            Self::Word { text, .. } => vec![text.clone()],
            Self::Run(characters) => {
                let pairs = characters.windows(2).map(|two| two.iter().map(|it| it.0).collect());
                let last = characters.last().map(|it| it.0.to_string());
                pairs.chain(last).collect()
            }
        }
    }
}

/// The tokens of a text, in order.
pub(super) struct Tokens<'a> {
    characters: std::iter::Peekable<std::iter::Enumerate<std::str::Chars<'a>>>,
}

/// What a character is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Run,
    Neither,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { characters: text.chars().enumerate().peekable() }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let kind = loop {
            match kind_of(self.characters.peek()?.1) {
                Kind::Neither => drop(self.characters.next()),
                kind => break kind,
            }
        };
        let mut taken: Vec<(char, usize)> = Vec::new();
        while let Some((at, character)) = self.characters.next_if(|(_, it)| {
            // A mark belongs to what it is put on.
            kind_of(*it) == kind || is_mark(*it)
        }) {
            taken.push((character, at));
        }
        Some(match kind {
            Kind::Run => {
                let with_marks = taken.chunk_by(|_, (next, _)| is_mark(*next));
                let folded = with_marks.flat_map(|them| {
                    folded(them).map(|character| (character, place_of(them))).collect::<Vec<_>>()
                });
                Token::Run(folded.collect())
            }
            Kind::Word | Kind::Neither => {
                let text = folded(&taken).take(MAX_WORD_CHARS).collect();
                Token::Word { text, at: place_of(&taken) }
            }
        })
    }
}

/// Returns characters in one of the ways in which Unicode has them, in lower case.
fn folded(taken: &[(char, usize)]) -> impl Iterator<Item = char> {
    taken.iter().map(|(character, _)| *character).nfkc().flat_map(char::to_lowercase).nfkc()
}

fn place_of(taken: &[(char, usize)]) -> Range<usize> {
    taken.first().map_or(0, |(_, at)| *at)..taken.last().map_or(0, |(_, at)| at + 1)
}

/// Returns whether a character is a mark on the one before it. Kana of half width have marks of their own.
fn is_mark(character: char) -> bool {
    is_combining_mark(character) || matches!(character, '\u{ff9e}' | '\u{ff9f}')
}

/// A mark begins nothing.
fn kind_of(character: char) -> Kind {
    if is_combining_mark(character) || !character.is_alphanumeric() {
        Kind::Neither
    } else if is_unspaced(character) {
        Kind::Run
    } else {
        Kind::Word
    }
}

/// Returns whether a letter belongs to a script that is written without spaces between words.
fn is_unspaced(character: char) -> bool {
    const SCRIPTS: [(u32, u32); 13] = [
        // Thai and Lao, Myanmar, Khmer
        (0x0e01, 0x0eff),
        (0x1000, 0x109f),
        (0x1780, 0x17ff),
        // Radicals, ideographic numbers, kana
        (0x2e80, 0x2fdf),
        (0x3005, 0x3007),
        (0x3031, 0x3035),
        (0x3041, 0x30ff),
        (0x31f0, 0x31ff),
        // Ideographs
        (0x3400, 0x4dbf),
        (0x4e00, 0x9fff),
        (0xf900, 0xfaff),
        // Kana of half width
        (0xff66, 0xff9f),
        (0x2_0000, 0x3_ffff),
    ];
    let code = u32::from(character);
    SCRIPTS.iter().any(|(first, last)| (*first..=*last).contains(&code))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_split_at_what_is_no_letter_or_digit() {
        for (text, words) in [
            ("The invoice, the INVOICE!", vec!["the", "invoice"]),
            ("main.rs can't foo_bar", vec!["main", "rs", "can", "t", "foo", "bar"]),
            ("Ａ ﬁne Ωmega", vec!["a", "fine", "ωmega"]),
            ("Cafe\u{301} Café", vec!["café"]),
            ("हिन्दी में", vec!["हिन्दी", "में"]),
            ("한국어 검색", vec!["한국어", "검색"]),
            ("日本語 x", vec!["日本", "本語", "語", "x"]),
            ("ｶﾞ が か\u{3099}", vec!["ガ", "が"]),
            ("iPhone手机", vec!["iphone", "手机", "机"]),
            (" … --- ", vec![]),
        ] {
            assert_eq!(search_words(text), words, "{text}");
        }
        let long = "x".repeat(100);
        assert_eq!(search_words(&long), ["x".repeat(MAX_WORD_CHARS)]);
        let many: Vec<String> = (0..2_000).map(|n| n.to_string()).collect();
        assert_eq!(search_words(&many.join(" ")).len(), MAX_INDEXED_WORDS);
    }

    #[test]
    fn a_message_says_its_content_or_the_texts_within() {
        let of = |content: Value, extra: Value| {
            let extra = serde_json::from_value(extra).unwrap();
            said(&MessageBody { extra, ..MessageBody::new("user", None, content) })
        };
        assert_eq!(of(json!("hello"), json!({"content_blocks": [{"text": "no"}]})), "hello");
        let parts = json!([{"type": "text", "text": "a"}, {"type": "image", "url": "u"}, "b"]);
        assert_eq!(of(parts, json!({})), "a\nb");
        assert_eq!(of(json!({"content": [{"text": "c"}], "id": "x"}), json!({})), "c");
        assert_eq!(of(Value::Null, json!({"content_blocks": [{"text": "d"}]})), "d");
        assert_eq!(of(Value::Null, json!({"props": {"content": "e"}})), "e");
        assert_eq!(of(json!(7), json!({})), "");
    }

    proptest! {
        /// What is found does not depend on the case, or on how Unicode writes a character.
        #[test]
        fn words_are_the_same_in_every_way_of_writing(text in "\\PC{0,40}") {
            let words = search_words(&text);
            prop_assert!(words.iter().all(|word| !word.is_empty()));
            let decomposed: String = text.nfd().collect();
            let composed: String = text.nfc().collect();
            prop_assert_eq!(search_words(&decomposed), search_words(&composed));
        }
    }
}
