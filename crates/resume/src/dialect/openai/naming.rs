use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use records::json::Hasher;
use serde_json::Value;

use super::draft::Draft;
use crate::Repair;

/// Longest name, in characters.
const MAX_CHARS: usize = 64;

/// The names of a conversation, and those given to names that the form does not admit.
#[derive(Debug)]
pub(super) struct Names {
    /// Every name that no other may become.
    taken: HashSet<String>,
    /// What each original became.
    given: HashMap<Arc<str>, Arc<str>>,
    /// What some original became.
    stand_ins: HashSet<Arc<str>>,
}

impl Names {
    /// Begins with the names of the conversation that are admitted.
    pub(super) fn new(taken: HashSet<String>) -> Self {
        Self { taken, given: HashMap::new(), stand_ins: HashSet::new() }
    }

    /// Rewrites the names that the form does not admit.
    pub(super) fn sanitise(&mut self, draft: &mut Draft) {
        let mut repairs = Vec::new();
        for name in draft.names_mut() {
            // A message that was edited meanwhile may bring a name that stands for another one.
            if is_admitted(name) && !self.stand_ins.contains(name.as_str()) {
                if !self.taken.contains(name) {
                    self.taken.insert(name.clone());
                }
                continue;
            }
            let (original, sanitised) = self.stand_in(name);
            sanitised.as_ref().clone_into(name);
            repairs.push(Repair::NameSanitised { original, sanitised });
        }
        draft.repairs.extend(repairs);
    }

    /// Returns a name, and what stands for it.
    fn stand_in(&mut self, name: &str) -> (Arc<str>, Arc<str>) {
        if let Some((original, given)) = self.given.get_key_value(name) {
            return (Arc::clone(original), Arc::clone(given));
        }
        let (original, given): (Arc<str>, Arc<str>) =
            (name.into(), distinct(name, &mut self.taken).into());
        self.given.insert(Arc::clone(&original), Arc::clone(&given));
        self.stand_ins.insert(Arc::clone(&given));
        (original, given)
    }

    /// Returns the original of each name given.
    pub(super) fn into_originals(self) -> BTreeMap<String, String> {
        let given = self.given.into_iter();
        given.map(|(original, given)| (given.as_ref().into(), original.as_ref().into())).collect()
    }
}

pub(super) fn is_admitted(name: &str) -> bool {
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
