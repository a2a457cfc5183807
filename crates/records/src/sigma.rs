//! The two small forms of sigma, which searches take for one letter.
//!
//! Greek writes ς at the end of words and σ elsewhere, and Σ for both. Nothing that is stored is folded: a search looks for every
//! spelling. So what earlier releases have stored is found as well.

const SIGMA: char = 'σ';
const FINAL: char = 'ς';

/// Returns a text in lower case with σ for every ς.
pub(crate) fn folded(text: &str) -> String {
    text.chars().map(|it| if it == FINAL { SIGMA } else { it }).collect()
}

/// Returns every spelling of a short text that was folded. Each σ doubles their number.
pub(crate) fn spellings(folded: &str) -> Vec<String> {
    folded.chars().fold(vec![String::new()], |begun, next| {
        let forms = if next == SIGMA { &[FINAL, SIGMA][..] } else { &[next] };
        let longer =
            begun.iter().flat_map(|begun| forms.iter().map(move |it| format!("{begun}{it}")));
        longer.collect()
    })
}

/// Returns a word with σ for a ς at its end.
pub(crate) fn with_folded_end(mut word: String) -> String {
    if word.ends_with(FINAL) {
        word.pop();
        word.push(SIGMA);
    }
    word
}

/// Returns the spellings of a word whose end was folded, in order.
pub(crate) fn spellings_of_end(word: &str) -> Vec<String> {
    let with_final = word.strip_suffix(SIGMA).map(|stem| format!("{stem}{FINAL}"));
    with_final.into_iter().chain([word.to_owned()]).collect()
}

/// Returns whether a word is a spelling of one whose end was folded.
pub(crate) fn is_spelling(word: &str, folded: &str) -> bool {
    rest_after(word, folded).is_some_and(str::is_empty)
}

/// Returns whether a word begins with a spelling of a beginning whose end was folded.
pub(crate) fn begins_with_spelling(word: &str, folded: &str) -> bool {
    rest_after(word, folded).is_some()
}

fn rest_after<'w>(word: &'w str, folded: &str) -> Option<&'w str> {
    let after_final = || word.strip_prefix(folded.strip_suffix(SIGMA)?)?.strip_prefix(FINAL);
    word.strip_prefix(folded).or_else(after_final)
}
