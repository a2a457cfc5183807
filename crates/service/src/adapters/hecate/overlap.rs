//! What of a history is new: clients send the whole conversation with each request.

use records::json::Digest;

/// The part of a history that a chat does not have yet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NewPart {
    /// The messages from here on are new.
    pub(super) from: usize,
    /// Whether the history and the chat differ before that, so that the place is a guess.
    pub(super) has_diverged: bool,
}

/// What is said in a message, in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) digest: Digest,
    pub(super) is_of_user: bool,
}

/// Finds the new part of a history. `stored` are the newest messages of the chat, at least as many as the history has, or all.
///
/// A history continues the chat if its beginning is the end of the chat: also one whose oldest messages the client has left
/// out. If nothing overlaps, the client has edited what was said. Then everything after the last stored message of the user
/// is new, without what the chat has after it, too; and everything if the history does not have that message. So nothing that is new
/// is ever left out.
pub(super) fn new_part(stored: &[Said], sent: &[Said]) -> NewPart {
    let overlap = overlap(stored, sent);
    if overlap > 0 || stored.is_empty() {
        return NewPart { from: overlap, has_diverged: false };
    }
    let last = stored.iter().rposition(|said| said.is_of_user);
    let found = last.and_then(|last| {
        let at = sent.iter().rposition(|said| *said == stored[last])?;
        let after = stored[last..].iter().zip(&sent[at..]);
        Some(at + after.take_while(|(stored, sent)| stored == sent).count())
    });
    NewPart { from: found.unwrap_or(0), has_diverged: true }
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

    /// Capitals are said by the user.
    fn said(text: &str) -> Vec<Said> {
        let said = |letter: char| Said {
            digest: [u8::try_from(letter).unwrap(); 16],
            is_of_user: letter.is_ascii_uppercase(),
        };
        text.chars().map(said).collect()
    }

    fn part(stored: &str, sent: &str) -> (usize, bool) {
        let NewPart { from, has_diverged } = new_part(&said(stored), &said(sent));
        (from, has_diverged)
    }

    #[test]
    fn a_history_continues_a_chat() {
        assert_eq!(part("", "A"), (0, false));
        assert_eq!(part("Ab", "AbC"), (2, false));
        assert_eq!(part("Ab", "Ab"), (2, false));
        // The client has left out the oldest messages.
        assert_eq!(part("AbCd", "CdE"), (2, false));
        // "yes", "ok", "yes", "ok": the longest overlap counts.
        assert_eq!(part("YoYo", "YoYoY"), (4, false));
    }

    #[test]
    fn a_history_that_was_edited_loses_nothing_new() {
        // The first message was edited.
        assert_eq!(part("AbCd", "XbCdE"), (4, true));
        assert_eq!(part("AbCd", "XbCE"), (3, true));
        // The last message of the user was edited.
        assert_eq!(part("AbCd", "AbXe"), (0, true));
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
            let stored = format!("{first}{}", &sent[part(&first, &sent).0..]);
            prop_assert!(stored.ends_with(&sent), "{} is stored as {}", sent, stored);
        }
    }
}
