use std::ops::Range;

/// The part of a text that shows why it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// The part, in one line. `…` stands for what is left out before and after it.
    pub text: String,
    /// Where it has the words, in characters.
    pub positions: Vec<Range<usize>>,
}

impl Snippet {
    /// The most characters of a snippet.
    pub const MAX_CHARS: usize = 200;

    /// How many characters are shown before the first word, at most.
    const BEFORE: usize = 60;

    /// Takes the part of a text around the first of these places, which are in order.
    #[must_use]
    pub fn of(text: &str, places: &[Range<usize>]) -> Self {
        const LEFT_OUT: char = '…';
        // One place for the mark at either end.
        let room = Self::MAX_CHARS - 2;
        let characters: Vec<char> = text.chars().collect();
        let first = places.first().map_or(0, |place| place.start);
        let mut start = first.saturating_sub(Self::BEFORE);
        if characters.len() <= room {
            start = 0;
        } else if start > 0 {
            // Between two words, if there is such a place.
            let blank = (start..first).find(|at| characters[*at].is_whitespace());
            start = blank.map_or(start, |blank| blank + 1);
        }
        let end = (start + room).min(characters.len());
        let shift = usize::from(start > 0);
        let shown = characters[start..end]
            .iter()
            .map(|it| if it.is_whitespace() || it.is_control() { ' ' } else { *it });
        let before = (start > 0).then_some(LEFT_OUT);
        let after = (end < characters.len()).then_some(LEFT_OUT);
        let text = before.into_iter().chain(shown).chain(after).collect();
        let within = places.iter().filter(|place| start <= place.start && place.start < end);
        let positions =
            within.map(|place| place.start - start + shift..place.end.min(end) - start + shift);
        Self { text, positions: positions.collect() }
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a position is a range")]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::SearchQuery;

    #[test]
    fn a_short_text_is_shown_whole_in_one_line() {
        let query = SearchQuery::parse("wörld").unwrap();
        let text = "hello\nwörld\t!";
        let snippet = Snippet::of(text, &query.find(text).unwrap());
        assert_eq!(snippet.text, "hello wörld !");
        assert_eq!(snippet.positions, [6..11]);
    }

    #[test]
    fn a_long_text_is_cut_around_the_first_word() {
        let text = format!("{} needle {} needle", "word ".repeat(100), "more ".repeat(100));
        let query = SearchQuery::parse("needle").unwrap();
        let snippet = Snippet::of(&text, &query.find(&text).unwrap());
        assert!(snippet.text.starts_with("…word word"), "{}", snippet.text);
        assert!(snippet.text.ends_with('…'), "{}", snippet.text);
        assert_eq!(snippet.positions.len(), 1);
    }

    proptest! {
        #[test]
        fn the_positions_of_a_snippet_are_those_of_the_words(
            before in "[a-z\\n ü日本]{0,400}",
            after in "[a-z\\n ü日本]{0,400}",
        ) {
            let text = format!("{before} Needle {after}");
            let query = SearchQuery::parse("needle").unwrap();
            let snippet = Snippet::of(&text, &query.find(&text).unwrap());
            let characters: Vec<char> = snippet.text.chars().collect();
            prop_assert!(characters.len() <= Snippet::MAX_CHARS);
            prop_assert!(!snippet.positions.is_empty());
            for place in snippet.positions {
                let shown: String = characters[place].iter().collect();
                prop_assert_eq!(shown.to_lowercase(), "needle");
            }
        }
    }
}
