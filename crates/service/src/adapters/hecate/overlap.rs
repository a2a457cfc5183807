//! What of a history is new: clients send the whole conversation with each request.

use records::json::Digest;
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// The speaker of a message, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Speaker {
    /// The person who asks.
    User,
    /// The model, or the agent, that answers.
    Assistant,
    /// A tool, or the system.
    Other,
}

/// What is said in a message, in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Said {
    pub(super) digest: Digest,
    pub(super) speaker: Speaker,
}

/// The part of a history that a chat does not have yet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NewPart {
    /// The places of the new messages in the history, in order.
    pub(super) places: Vec<usize>,
    /// Whether the history does more than to continue the chat.
    pub(super) has_diverged: bool,
}

impl NewPart {
    fn from(known: usize, sent: &[Said]) -> Self {
        Self { places: (known..sent.len()).collect(), has_diverged: false }
    }
}

/// Returns the new part of a history that plainly continues the chat: its beginning is the end of the chat, and holds every answer of
/// the history. A client may have left out its oldest messages. `stored` are the newest messages of the chat, at least as many as
/// the history has, or all.
pub(super) fn continuation(stored: &[Said], sent: &[Said]) -> Option<NewPart> {
    let known = overlap(stored, sent);
    let is_plain = stored.is_empty() || (known > 0 && known >= answered(sent));
    is_plain.then(|| NewPart::from(known, sent))
}

/// Returns the new part of any other history, whichever is less: what continues the chat, or what both do not have in the same
/// order.
pub(super) fn comparison(stored: &[Said], sent: &[Said]) -> NewPart {
    let (known, unknown) = (overlap(stored, sent), unknown(stored, sent));
    if known > 0 && sent.len() - known <= unknown.len() {
        return NewPart::from(known, sent);
    }
    NewPart { places: unknown, has_diverged: true }
}

/// Returns the number of messages up to the last answer.
fn answered(sent: &[Said]) -> usize {
    sent.iter().rposition(|said| said.speaker == Speaker::Assistant).map_or(0, |last| last + 1)
}

/// Returns the messages of a history that does not continue the chat, by their places, as far as they are not among `stored`: the
/// client has edited what was said, has summed it up, or goes on from an earlier point.
///
/// What both have in the same order is known. But what the user says at the end, without an answer, is what the request is about.
/// It is new, also if the user has said the same before.
fn unknown(stored: &[Said], sent: &[Said]) -> Vec<usize> {
    let answered = answered(sent);
    let is_asked = |at: &usize| *at >= answered && sent[*at].speaker == Speaker::User;
    let history: Vec<usize> = (0..sent.len()).filter(|at| !is_asked(at)).collect();
    let compared: Vec<Said> = history.iter().map(|at| sent[*at]).collect();
    let mut unknown: Vec<usize> = (answered..sent.len()).filter(is_asked).collect();
    for difference in capture_diff_slices(Algorithm::Myers, stored, &compared) {
        match difference {
            DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                unknown.extend(&history[difference.new_range()]);
            }
            DiffOp::Equal { .. } | DiffOp::Delete { .. } => {}
        }
    }
    unknown.sort_unstable();
    unknown
}

/// Returns the length of the longest beginning of `sent` that is an end of `stored`, by the method of Knuth, Morris and Pratt.
fn overlap(stored: &[Said], sent: &[Said]) -> usize {
    let borders = borders(sent);
    let mut matched = 0;
    for said in stored {
        while matched > 0 && (matched == sent.len() || sent[matched] != *said) {
            matched = borders[matched - 1];
        }
        if sent.get(matched) == Some(said) {
            matched += 1;
        }
    }
    matched
}

/// Returns for each beginning of a list the length of its longest own beginning that is also its end.
fn borders(list: &[Said]) -> Vec<usize> {
    let mut borders = vec![0; list.len()];
    for end in 1..list.len() {
        let mut length = borders[end - 1];
        while length > 0 && list[length] != list[end] {
            length = borders[length - 1];
        }
        borders[end] = length + usize::from(list[length] == list[end]);
    }
    borders
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Capitals are said by the user, digits by tools.
    fn said(text: &str) -> Vec<Said> {
        let said = |letter: char| Said {
            digest: [u8::try_from(letter).unwrap(); 16],
            speaker: match letter {
                'A'..='Z' => Speaker::User,
                'a'..='z' => Speaker::Assistant,
                _ => Speaker::Other,
            },
        };
        text.chars().map(said).collect()
    }

    /// Returns what of a history is stored.
    fn new(stored: &str, sent: &str) -> String {
        let (stored, all) = (said(stored), said(sent));
        let part = continuation(&stored, &all).unwrap_or_else(|| comparison(&stored, &all));
        let letters: Vec<char> = sent.chars().collect();
        part.places.into_iter().map(|at| letters[at]).collect()
    }

    #[test]
    fn a_history_continues_a_chat() {
        for (stored, sent, expected) in [
            ("", "A", "A"),
            ("Ab", "AbC", "C"),
            ("Ab", "Ab", ""),
            // The client has left out the oldest messages.
            ("AbCd", "CdE", "E"),
            // "yes", "ok", "yes", "ok": the longest overlap counts.
            ("YoYo", "YoYoY", "Y"),
            // The answer to the last question was not stored.
            ("AbC", "AbC", ""),
        ] {
            assert_eq!(new(stored, sent), expected, "{stored} {sent}");
        }
    }

    #[test]
    fn a_history_that_was_edited_loses_nothing_new_and_doubles_nothing() {
        for (stored, sent, expected) in [
            // The first message was edited.
            ("AbCd", "XbCdE", "XE"),
            // The last question was edited, or is asked again.
            ("AbCd", "AbX", "X"),
            ("AbCd", "AbC", "C"),
            // Another client went on from the same point.
            ("AbCdEf", "AbCdG", "G"),
            ("AbCdAb", "AbCdX", "X"),
            // The beginning is summed up; the user says the same once more.
            ("AbCd", "1C", "1C"),
            ("AbCd", "XbC", "XC"),
            ("Gk", "EkG", "EG"),
            // The result of a tool is no question.
            ("Ab1c", "Ab1", ""),
        ] {
            assert_eq!(new(stored, sent), expected, "{stored} {sent}");
        }
    }

    proptest! {
        #[test]
        fn the_overlap_is_the_longest(stored in "[Aab]{0,12}", sent in "[Aab]{0,12}") {
            let longest = (0..=sent.len()).rev().find(|end| stored.ends_with(&sent[..*end]));
            prop_assert_eq!(Some(overlap(&said(&stored), &said(&sent))), longest);
        }

        #[test]
        fn a_growing_history_is_stored_once(first in "[Aab]{1,12}", more in "[Aab]{0,12}") {
            let sent = format!("{first}{more}");
            let stored = format!("{first}{}", new(&first, &sent));
            prop_assert!(stored.ends_with(&sent), "{} is stored as {}", sent, stored);
        }

        #[test]
        fn nothing_is_lost(stored in "[ABab12]{0,12}", sent in "[ABab12]{0,12}") {
            let both = format!("{stored}{}", new(&stored, &sent));
            for letter in sent.chars() {
                let count = |text: &str| text.matches(letter).count();
                prop_assert!(count(&both) >= count(&sent), "{} of {} is lost: {}", letter, sent, both);
            }
        }

        #[test]
        fn what_goes_on_from_an_earlier_point_is_not_doubled(
            beginning in "([ABC]1?[abc]){1,6}", first in "([ABC][abc]){1,4}", other in "[XYZ]([xyz][XYZ]){0,4}"
        ) {
            let added = new(&format!("{beginning}{first}"), &format!("{beginning}{other}"));
            prop_assert!(added.len() <= other.len(), "{}", added);
        }
    }
}
