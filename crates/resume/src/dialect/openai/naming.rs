use std::collections::{BTreeMap, HashMap, HashSet};

use records::json::Hasher;
use serde_json::Value;

use super::draft::Draft;
use crate::Repair;

/// Longest name, in characters.
const MAX_CHARS: usize = 64;

/// Rewrites the names that the form does not admit, and returns the original of each new name.
pub(super) fn sanitise(drafts: &mut [Draft]) -> BTreeMap<String, String> {
    let names = drafts.iter_mut().flat_map(Draft::names_mut);
    let mut taken: HashSet<_> =
        names.filter(|name| is_admitted(name)).map(|name| name.clone()).collect();
    let mut sanitised = HashMap::new();
    for draft in drafts {
        let mut repairs = Vec::new();
        for name in draft.names_mut().filter(|name| !is_admitted(name)) {
            let new_name = sanitised
                .entry(name.clone())
                .or_insert_with_key(|original| distinct(original, &mut taken));
            repairs.push(Repair::NameSanitised {
                original: std::mem::replace(name, new_name.clone()),
                sanitised: new_name.clone(),
            });
        }
        draft.repairs.extend(repairs);
    }
    sanitised.into_iter().map(|(original, new_name)| (new_name, original)).collect()
}

fn is_admitted(name: &str) -> bool {
    (1..=MAX_CHARS).contains(&name.len()) && name.chars().all(is_admitted_char)
}

fn is_admitted_char(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

/// Returns an admitted name that no other name of the conversation is, and takes it.
fn distinct(original: &str, taken: &mut HashSet<String>) -> String {
    let admitted = |c| if is_admitted_char(c) { c } else { '_' };
    let plain: String = original.chars().take(MAX_CHARS).map(admitted).collect();
    let mut name = plain.clone();
    let mut round = 0_u64;
    while !taken.insert(name.clone()) {
        let digest = short_digest(original, round);
        let kept = plain.len().min(MAX_CHARS - 1 - digest.len());
        name = format!("{}_{digest}", &plain[..kept]);
        round += 1;
    }
    name
}

fn short_digest(original: &str, round: u64) -> String {
    let mut hasher = Hasher::default();
    hasher.field("name", &Value::from(original));
    hasher.field("round", &Value::from(round));
    let [a, b, c, d, ..] = hasher.finish();
    format!("{:08x}", u32::from_be_bytes([a, b, c, d]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_outside_become_underscores_and_length_is_bounded() {
        let mut taken = HashSet::new();
        assert_eq!(distinct("Zoë W.", &mut taken), "Zo__W_");
        assert_eq!(distinct(&"é".repeat(70), &mut taken), "_".repeat(64));
    }

    #[test]
    fn names_that_would_be_one_stay_two() {
        let mut taken = HashSet::from(["a_b".to_owned()]);
        let first = distinct("a b", &mut taken);
        let second = distinct("a.b", &mut taken);
        assert!(first.starts_with("a_b_") && first.len() == 12);
        assert_ne!(first, second);
        let long = distinct(&"x".repeat(65), &mut taken);
        let longer = distinct(&"x".repeat(66), &mut taken);
        assert_eq!((long.len(), longer.len()), (64, 64));
        assert_ne!(long, longer);
    }
}
