//! Text that looks like language to a compressor.

use rand::{Rng, RngExt as _};

/// Made-up words, in the order of how often they are used.
#[derive(Debug)]
pub(super) struct Vocabulary {
    words: Vec<String>,
}

/// How many words there are: as many as a database page of real text tells apart.
const WORDS: usize = 12_000;

const ONSETS: [&str; 18] =
    ["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "pr", "r", "s", "st", "t", "tr", "v", "w"];
const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ea", "io", "ou"];
const CODAS: [&str; 10] = ["", "", "", "n", "r", "s", "t", "l", "nd", "ng"];

impl Vocabulary {
    pub(super) fn invent(rng: &mut impl Rng) -> Self {
        Self { words: (0..WORDS).map(|rank| word(rng, rank)).collect() }
    }

    /// Writes sentences of a size in bytes.
    pub(super) fn text(&self, rng: &mut impl Rng, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 32);
        while text.len() < bytes {
            text.push_str(self.draw(rng));
            text.push_str(match rng.random_range(0..100) {
                0..7 => ". ",
                7..13 => ", ",
                13..16 => "\n",
                16..18 => ": ",
                _ => " ",
            });
            // Numbers, paths and ids make up much of what agents tell one another.
            if rng.random_range(0..100) < 6 {
                text.push_str(&rng.random_range(0..100_000).to_string());
                text.push(' ');
            }
        }
        text.truncate(bytes);
        text
    }

    /// Draws a word by Zipf's law: the logarithm of its rank is uniform.
    fn draw(&self, rng: &mut impl Rng) -> &str {
        let rank = (rng.random::<f64>() * (WORDS as f64).ln()).exp();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to WORDS")]
        let index = rank as usize - 1;
        &self.words[index.min(WORDS - 1)]
    }
}

/// Makes up a word; frequent ones are short.
fn word(rng: &mut impl Rng, rank: usize) -> String {
    let syllables = match rank {
        0..60 => 1,
        60..600 => rng.random_range(1..=2),
        _ => rng.random_range(2..=4),
    };
    let mut pick = |parts: &[&'static str]| parts[rng.random_range(0..parts.len())];
    (0..syllables).flat_map(|_| [pick(&ONSETS), pick(&VOWELS), pick(&CODAS)]).collect()
}
