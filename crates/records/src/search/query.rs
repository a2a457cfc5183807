use std::ops::Range;

use super::words::{Token, Tokens};
use crate::Invalid;
use crate::sigma::{begins_with_spelling, is_spelling, spellings_of_end, with_folded_end};

/// A search for messages that have all of some words.
///
/// Characters of a script without spaces are found wherever they follow one another. At the end of a word ς counts as σ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    Word(String),
    /// The beginning of a word.
    Prefix(String),
    /// Characters of a script without spaces.
    Run(Vec<char>),
}

/// The words under which the index has the messages with a term, or some of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WordRange {
    /// This word, in every spelling.
    Word(String),
    /// Every word that begins so, in every spelling.
    Prefix(String),
}

impl WordRange {
    /// Returns whether a word is in the range.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        match self {
            Self::Word(own) => is_spelling(word, own),
            Self::Prefix(prefix) => begins_with_spelling(word, prefix),
        }
    }

    /// Returns the spellings of the word, or of the beginning. Every text from the first of them up to what begins with the last
    /// one begins with one of them.
    #[must_use]
    pub fn spellings(&self) -> Vec<String> {
        match self {
            Self::Word(text) | Self::Prefix(text) => spellings_of_end(text),
        }
    }
}

impl SearchQuery {
    /// The most characters of a query.
    pub const MAX_CHARS: usize = 256;
    /// The most words of a query.
    pub const MAX_WORDS: usize = 8;
    /// The fewest characters of the beginning of a word.
    pub const MIN_PREFIX_CHARS: usize = 2;

    /// Takes the words to search for, in any case. A `*` at the end makes the last word the beginning of one.
    pub fn parse(query: &str) -> Result<Self, Invalid> {
        let refused = |detail: String| Err(Invalid::value("/q", detail));
        let (most, most_words) = (Self::MAX_CHARS, Self::MAX_WORDS);
        if query.chars().count() > most {
            return refused(format!("must have at most {most} characters"));
        }
        let mut terms: Vec<Term> = Vec::new();
        for token in Tokens::of(query) {
            terms.push(match token {
                Token::Word { text, .. } => Term::Word(with_folded_end(text)),
                Token::Run(characters) => {
                    Term::Run(characters.into_iter().map(|it| it.0).collect())
                }
            });
        }
        let is_prefix = query
            .trim_end()
            .strip_suffix('*')
            .is_some_and(|before| before.chars().next_back().is_some_and(char::is_alphanumeric));
        if let (true, Some(Term::Word(word))) = (is_prefix, terms.last()) {
            let least = Self::MIN_PREFIX_CHARS;
            if word.chars().count() < least {
                return refused(format!("must have at least {least} characters before the `*`"));
            }
            let prefix = Term::Prefix(word.clone());
            terms.pop();
            terms.push(prefix);
        }
        let mut different: Vec<Term> = Vec::new();
        for term in terms {
            if !different.contains(&term) {
                different.push(term);
            }
        }
        match different.len() {
            0 => refused("must have a word: letters or digits".to_owned()),
            words if words > most_words => refused(format!("must have at most {most_words} words")),
            _ => Ok(Self { terms: different }),
        }
    }

    /// Returns the ranges of words of which a message has one word each, if it is found.
    #[must_use]
    pub fn ranges(&self) -> Vec<WordRange> {
        let ranges = self.terms.iter().flat_map(|term| match term {
            Term::Word(word) => vec![WordRange::Word(word.clone())],
            Term::Prefix(prefix) => vec![WordRange::Prefix(prefix.clone())],
            // The index has it as the first of two characters, or as the last one.
            Term::Run(run) if run.len() == 1 => vec![WordRange::Prefix(run.iter().collect())],
            Term::Run(run) => {
                run.windows(2).map(|two| WordRange::Word(two.iter().collect())).collect()
            }
        });
        let mut ranges: Vec<WordRange> = ranges.collect();
        ranges.sort();
        ranges.dedup();
        ranges
    }

    /// Returns whether a message with these words may be found.
    #[must_use]
    pub fn admits(&self, words: &[String]) -> bool {
        self.ranges().iter().all(|range| words.iter().any(|word| range.has(word)))
    }

    /// Returns where a text has the words, in characters and in order; `None` if it lacks one of them.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<Vec<Range<usize>>> {
        let mut is_found = vec![false; self.terms.len()];
        let mut found: Vec<Range<usize>> = Vec::new();
        for token in Tokens::of(text) {
            for (term, is_found) in self.terms.iter().zip(&mut is_found) {
                let places = term.places(&token);
                *is_found |= !places.is_empty();
                found.extend(places);
            }
        }
        found.sort_by_key(|place| (place.start, place.end));
        found.dedup();
        is_found.into_iter().all(|it| it).then_some(found)
    }
}

impl Term {
    fn places(&self, token: &Token) -> Vec<Range<usize>> {
        match (self, token) {
            (Self::Word(own), Token::Word { text, at }) if is_spelling(text, own) => {
                vec![at.clone()]
            }
            (Self::Prefix(own), Token::Word { text, at }) if begins_with_spelling(text, own) => {
                vec![at.clone()]
            }
            (Self::Run(own), Token::Run(characters)) => {
                let same = characters.windows(own.len()).filter(|part| {
                    part.iter().zip(own).all(|((character, _), own)| character == own)
                });
                same.filter_map(|part| Some(part.first()?.1.start..part.last()?.1.end)).collect()
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a position is a range")]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::search_words;

    fn query(text: &str) -> SearchQuery {
        SearchQuery::parse(text).unwrap()
    }

    #[test]
    fn a_text_is_found_that_has_every_word() {
        let text = "The INVOICE of Café Müller, 3.14 日本語のテキスト";
        for (asked, places) in [
            ("invoice", vec![4..11]),
            ("müller THE", vec![0..3, 20..26]),
            ("invo*", vec![4..11]),
            ("3.14", vec![28..29, 30..32]),
            ("本語", vec![34..36]),
            ("語*", vec![35..36]),
            ("ト", vec![40..41]),
        ] {
            assert_eq!(query(asked).find(text), Some(places), "{asked}");
        }
        for (asked, text) in [("οδος", "ΟΔΟΣ"), ("ΟΔΟΣ", "η οδος"), ("οδος*", "οδος ΟΔΟΣΗΜΑ")]
        {
            let query = query(asked);
            assert!(query.find(text).is_some(), "{asked}");
            assert!(query.admits(&search_words(text)), "{asked}");
        }
        assert_eq!(query("οδος*").find("ΟΔΟΣΗΜΑ"), Some(vec![0..7]));
        for absent in ["invo", "invoice paid", "nvoice*", "語日", "cafe"] {
            assert_eq!(query(absent).find(text), None, "{absent}");
        }
    }

    #[test]
    fn a_query_has_one_to_eight_words() {
        for (refused, why) in [
            ("", "must have a word: letters or digits"),
            (" .*", "must have a word: letters or digits"),
            ("a b c d e f g h i", "must have at most 8 words"),
            ("a*", "must have at least 2 characters before the `*`"),
        ] {
            assert_eq!(SearchQuery::parse(refused).unwrap_err().detail, why, "{refused}");
        }
        assert!(SearchQuery::parse(&"a".repeat(257)).is_err());
        assert!(SearchQuery::parse("a a a a a a a a a").is_ok());
    }

    proptest! {
        /// The index finds every text that has the words.
        #[test]
        fn the_words_of_a_text_that_is_found_are_in_the_ranges(
            before in "\\PC{0,8}",
            asked in "[a-zÀ-žςσΣ日本語กขค0-9]{2,9}",
            after in "\\PC{0,8}",
        ) {
            let text = format!("{before} {asked} {after}");
            // Letters and ideographs by turns are too many words, and one letter is too short a beginning.
            let asked = [SearchQuery::parse(&asked), SearchQuery::parse(&format!("{asked}*"))];
            for query in asked.into_iter().flatten() {
                let words = search_words(&text);
                prop_assert!(query.find(&text).is_some());
                prop_assert!(query.admits(&words));
            }
        }
    }
}
