//! Search queries, and the texts they find.

use records::{
    MAX_INDEXED_WORDS, MAX_WORD_CHARS, MetadataFilter, SearchQuery, Snippet, TitlePart,
    search_words, title_key, title_trigrams,
};

use super::Target;
use crate::{fixtures, input};

pub(super) const TARGET: Target = Target { name: "search", check, seeds };

/// The first line is the query, the rest the text.
fn check(bytes: &[u8]) {
    let (query, text) = input::line(bytes);
    let (Ok(query), Ok(text)) = (str::from_utf8(query), str::from_utf8(text)) else { return };
    check_title(query, text);
    let _ = MetadataFilter::parse(query);
    let words = search_words(text);
    assert!(words.len() <= MAX_INDEXED_WORDS);
    assert!(words.iter().all(|word| (1..=MAX_WORD_CHARS).contains(&word.chars().count())));
    let query = match SearchQuery::parse(query) {
        Ok(query) => query,
        Err(invalid) => {
            assert_eq!(invalid.location.to_string(), "/q");
            assert!(!invalid.detail.is_empty());
            return;
        }
    };
    for range in query.ranges() {
        assert!(range.spellings().iter().all(|spelling| !spelling.is_empty()));
    }
    let Some(places) = query.find(text) else { return };
    let length = text.chars().count();
    assert!(!places.is_empty() && places.iter().all(|it| it.start < it.end && it.end <= length));
    assert!(words.len() == MAX_INDEXED_WORDS || query.admits(&words), "the index finds the text");
    let snippet = Snippet::of(text, &places);
    let shown = snippet.text.chars().count();
    assert!(shown <= Snippet::MAX_CHARS && !snippet.text.contains('\n'));
    assert!(!snippet.positions.is_empty());
    assert!(snippet.positions.iter().all(|it| it.start < it.end && it.end <= shown));
}

fn check_title(part: &str, title: &str) {
    let key = title_key(Some(title));
    assert_eq!(title_key(Some(title)), key);
    let Ok(part) = TitlePart::parse(part) else { return };
    if part.is_in(title) {
        let trigrams = title_trigrams(title);
        let is_indexed = |one_of: &Vec<String>| one_of.iter().any(|it| trigrams.contains(it));
        assert!(part.trigrams().iter().all(is_indexed), "the index finds the title");
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "invoice\nThe INVOICE of Café Müller, 3.14 日本語のテキスト",
        "語*\nThe INVOICE of Café Müller, 3.14 日本語のテキスト",
        "ΟΔΟΣ\nη οδος ΟΔΟΣΗΜΑ",
        "a b c d e f g h i\na",
        "ไทย ß İ ﬁ\nภาษาไทย Straße İstanbul ﬁn",
        "metadata.key:value\nx",
    ];
    let long = [b"needle*\n".to_vec(), b"word ".repeat(400), b"needles".to_vec()].concat();
    let texts = texts.map(|text| text.as_bytes().to_vec()).into_iter();
    texts.chain([long]).chain(fixtures::prefixed(b"trip\n", fixtures::transcripts())).collect()
}
