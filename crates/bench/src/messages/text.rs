//! Text that compresses like natural language.

use rand::{Rng, RngExt as _};

/// Generated words and phrases, most frequent first.
#[derive(Debug)]
pub(super) struct Vocabulary {
    words: Vec<String>,
    /// Text that agents repeat: templates, instructions, names of tools.
    phrases: Vec<String>,
}

const WORDS: usize = 12_000;
const PHRASES: usize = 500;
/// How often a phrase takes the place of a word, in per cent.
const PHRASES_PERCENT: u32 = 30;
/// How often a number follows.
const NUMBERS_PERCENT: u32 = 6;

const ONSETS: [&str; 18] =
    ["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "pr", "r", "s", "st", "t", "tr", "v", "w"];
const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ea", "io", "ou"];
const CODAS: [&str; 10] = ["", "", "", "n", "r", "s", "t", "l", "nd", "ng"];

impl Vocabulary {
    pub(super) fn invent(rng: &mut impl Rng) -> Self {
        let words: Vec<_> = (0..WORDS).map(|rank| word(rng, rank)).collect();
        let phrases = (0..PHRASES).map(|_| phrase(rng, &words)).collect();
        Self { words, phrases }
    }

    /// Writes sentences of a size in bytes.
    pub(super) fn text(&self, rng: &mut impl Rng, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 128);
        while text.len() < bytes {
            let is_phrase = rng.random_range(0..100) < PHRASES_PERCENT;
            text.push_str(draw(rng, if is_phrase { &self.phrases } else { &self.words }));
            text.push_str(match rng.random_range(0..100) {
                0..7 => ". ",
                7..13 => ", ",
                13..16 => "\n",
                16..18 => ": ",
                _ => " ",
            });
            if rng.random_range(0..100) < NUMBERS_PERCENT {
                text.push_str(&rng.random_range(0..100_000).to_string());
                text.push(' ');
            }
        }
        text.truncate(bytes);
        text
    }
}

/// Draws by Zipf's law: the logarithm of the rank is uniform.
fn draw<'a>(rng: &mut impl Rng, ranked: &'a [String]) -> &'a str {
    let rank = (rng.random::<f64>() * (ranked.len() as f64).ln()).exp();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to the length")]
    let index = rank as usize - 1;
    &ranked[index.min(ranked.len() - 1)]
}

/// Generates a word; frequent words are short.
fn word(rng: &mut impl Rng, rank: usize) -> String {
    let syllables = match rank {
        0..60 => 1,
        60..600 => rng.random_range(1..=2),
        _ => rng.random_range(2..=4),
    };
    let mut pick = |parts: &[&'static str]| parts[rng.random_range(0..parts.len())];
    (0..syllables).flat_map(|_| [pick(&ONSETS), pick(&VOWELS), pick(&CODAS)]).collect()
}

fn phrase(rng: &mut impl Rng, words: &[String]) -> String {
    let length = rng.random_range(3..=12);
    let drawn: Vec<_> = (0..length).map(|_| draw(rng, words)).collect();
    drawn.join(" ")
}
