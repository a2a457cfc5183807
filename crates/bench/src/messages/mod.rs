//! The messages that both sides of a comparison store: generated text in the sizes of real messages.

mod sizes;
mod text;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chacha20::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

use text::Vocabulary;

/// A message, in a format that favours neither side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    /// Random, like callers' ids: unique within a source.
    pub(crate) event_id: String,
    pub(crate) role: &'static str,
    pub(crate) name: &'static str,
    pub(crate) content: String,
    pub(crate) timestamp: String,
}

/// Makes messages; the same ones for the same seed.
#[derive(Debug)]
struct MessageSource {
    rng: ChaCha8Rng,
    vocabulary: Vocabulary,
    made: usize,
}

/// The speakers, in turn.
const SPEAKERS: [(&str, &str); 5] = [
    ("user", "user"),
    ("assistant", "orchestrator"),
    ("assistant", "web_surfer"),
    ("assistant", "coder"),
    ("assistant", "executor"),
];

/// A source that several tasks share.
#[derive(Debug, Clone)]
pub(crate) struct SharedSource(Arc<Mutex<MessageSource>>);

impl SharedSource {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(MessageSource::new(seed))))
    }

    /// Makes the next messages.
    pub(crate) fn take(&self, count: usize) -> Vec<Message> {
        self.lock().take(count)
    }

    /// Makes text of a size in bytes.
    pub(crate) fn text(&self, bytes: usize) -> String {
        self.lock().text(bytes)
    }

    fn lock(&self) -> MutexGuard<'_, MessageSource> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MessageSource {
    fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let vocabulary = Vocabulary::invent(&mut rng);
        Self { rng, vocabulary, made: 0 }
    }

    fn take(&mut self, count: usize) -> Vec<Message> {
        (0..count).map(|_| self.next()).collect()
    }

    fn text(&mut self, bytes: usize) -> String {
        self.vocabulary.text(&mut self.rng, bytes)
    }

    fn next(&mut self) -> Message {
        let event_id = format!("evt_{:032x}", self.rng.random::<u128>());
        let (role, name) = SPEAKERS[self.made % SPEAKERS.len()];
        let bytes = sizes::draw(&mut self.rng);
        let content = self.text(bytes);
        let seconds = self.made;
        let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
        let timestamp = format!("2025-10-02T{hour:02}:{minute:02}:{second:02}.000Z");
        self.made += 1;
        Message { event_id, role, name, content, timestamp }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    #[test]
    fn one_seed_makes_the_same_messages_another_seed_makes_others() {
        let made = |seed| MessageSource::new(seed).take(50);
        assert_eq!(made(7), made(7));
        let contents = |seed| made(seed).into_iter().map(|message| message.content);
        let shared = contents(7).collect::<HashSet<_>>();
        assert!(contents(8).all(|content| content.len() < 10 || !shared.contains(&content)));
    }

    #[test]
    fn no_two_messages_have_one_id() {
        let messages = MessageSource::new(1).take(10_000);
        let ids: HashSet<_> = messages.iter().map(|message| &message.event_id).collect();
        assert_eq!(ids.len(), messages.len());
    }

    /// The text of real transcripts, in blocks of the size in which the server compresses, becomes
    /// 3.1 times smaller when its messages are shuffled and 4.3 times when they follow one another.
    #[test]
    fn the_text_compresses_as_that_of_real_transcripts_does() {
        let text = MessageSource::new(1).text(1 << 20);
        let blocks = text.as_bytes().chunks(32 << 10);
        let compressed: usize = blocks.map(deflated).sum();
        let factor = text.len() as f64 / compressed as f64;
        assert!((2.5..4.3).contains(&factor), "{factor:.2} times smaller");
    }

    fn deflated(block: &[u8]) -> usize {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
        encoder.write_all(block).unwrap();
        encoder.finish().unwrap().len()
    }
}
