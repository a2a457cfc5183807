//! Search in the titles of chats: parts of them, in any case.

use std::collections::BTreeSet;

use crate::Invalid;
use crate::sigma::{folded, spellings};

/// A part of a title to search for, in lower case.
///
/// Lower case is that of Unicode, character by character, and ς counts as σ. Nothing else is folded: accents and spaces count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TitlePart(String);

impl TitlePart {
    /// The shortest part: what is shorter is in too many titles.
    pub const MIN_CHARS: usize = 3;
    /// The longest part.
    pub const MAX_CHARS: usize = 64;

    /// Takes a part of a title, in any case.
    pub fn parse(part: &str) -> Result<Self, Invalid> {
        let (least, most) = (Self::MIN_CHARS, Self::MAX_CHARS);
        if !(least..=most).contains(&part.chars().count()) {
            let limit = format!("must have {least} to {most} characters");
            return Err(Invalid::value("/title_contains", limit));
        }
        Ok(Self(searched(part)))
    }

    /// Returns whether a title has the part.
    #[must_use]
    pub fn is_in(&self, title: &str) -> bool {
        searched(title).contains(&self.0)
    }

    /// Returns the trigrams of the part, each in every spelling: a title that has the part has one spelling of each.
    #[must_use]
    pub fn trigrams(&self) -> Vec<Vec<String>> {
        trigrams(&self.0).iter().map(|trigram| spellings(trigram)).collect()
    }
}

/// The most characters of a title that decide its place in a list by title.
const KEY_CHARS: usize = 64;

/// Begins no text that people write, and is greater than all they do.
const WITHOUT_TITLE: &str = "\u{10FFFF}";

/// Returns the key of a title in lists by title: its first 64 characters in lower case, without spaces around it. The key of a
/// chat without a title comes after all others.
#[must_use]
pub fn title_key(title: Option<&str>) -> String {
    let key: String =
        lower_case(title.unwrap_or_default().trim()).chars().take(KEY_CHARS).collect();
    if key.is_empty() { WITHOUT_TITLE.to_owned() } else { key }
}

/// Returns the trigrams of a title in lower case: each three characters that follow one another. A shorter title has none.
#[must_use]
pub fn title_trigrams(title: &str) -> BTreeSet<String> {
    trigrams(&lower_case(title))
}

/// Returns a text as searches compare it.
fn searched(text: &str) -> String {
    // A page of a list may compare thousands of titles.
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    folded(&lower_case(text))
}

/// Unlike that of a whole text, the lower case of its characters does not depend on what stands beside them.
fn lower_case(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

fn trigrams(text: &str) -> BTreeSet<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.windows(3).map(|three| three.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn part(text: &str) -> TitlePart {
        TitlePart::parse(text).unwrap()
    }

    #[test]
    fn a_part_is_found_in_any_case() {
        for found in ["picnic", "NIC on", "ÄNGSTR", "ström 日本"] {
            assert!(part(found).is_in("A PICNIC on Ängström 日本語"), "{found}");
        }
        assert!(part("ΟΔΟΣ").is_in("ΟΔΟΣΗΜΑ"));
        for (part, title) in
            [("οδος", "ΟΔΟΣ"), ("ΟΔΟΣ", "η οδος"), ("οδοσ", "οδος"), ("δος", "οδοσ")]
        {
            assert!(TitlePart::parse(part).unwrap().is_in(title), "{part} {title}");
        }
        for absent in ["picnics", "picnic  on", "angstr"] {
            assert!(!part(absent).is_in("A PICNIC on Ängström 日本語"), "{absent}");
        }
    }

    #[test]
    fn a_part_has_three_to_sixty_four_characters() {
        for refused in ["", "ab", "日本", &"x".repeat(65)] {
            assert!(TitlePart::parse(refused).is_err(), "{refused}");
        }
        for accepted in ["abc", "日本語", &"ü".repeat(64)] {
            assert!(TitlePart::parse(accepted).is_ok(), "{accepted}");
        }
    }

    #[test]
    fn titles_are_ordered_whatever_their_case_and_before_none() {
        let titles =
            [Some("\0"), Some(" a"), Some("A b"), Some("b"), Some("Ä"), Some("日本"), None];
        assert!(titles.map(title_key).is_sorted(), "{:?}", titles.map(title_key));
        assert_eq!(title_key(Some(" \n")), title_key(None));
        assert_eq!(title_key(Some(&"日".repeat(500))).chars().count(), 64);
    }

    proptest! {
        #[test]
        fn a_text_of_ascii_is_searched_like_every_other(text in "[ -~]{0,40}") {
            prop_assert_eq!(searched(&text), folded(&lower_case(&text)));
        }

        /// The index finds every title that has a part, whatever its characters become in lower case.
        #[test]
        fn a_title_with_a_part_has_all_of_its_trigrams(
            before in ".{0,8}",
            text in ".{3,9}|[ςσΣο ]{3,9}",
            after in ".{0,8}",
        ) {
            let (title, part) = (format!("{before}{text}{after}"), part(&text));
            prop_assert!(part.is_in(&title));
            let stored = title_trigrams(&title);
            let is_stored = |trigram: &Vec<String>| trigram.iter().any(|it| stored.contains(it));
            prop_assert!(part.trigrams().iter().all(is_stored));
            prop_assert!(!part.trigrams().is_empty());
        }
    }
}
