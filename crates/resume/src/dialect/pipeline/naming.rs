use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use records::json::Hasher;
use serde_json::Value;

use super::rules::{NameRule, Rules};
use crate::Repair;
use crate::canonical::Canonical;

/// The names of a conversation, and those given to names that the form does not admit.
#[derive(Debug)]
pub(super) struct Names {
    rules: &'static Rules,
    /// Every name that no other may become.
    taken: HashSet<String>,
    /// What each original became.
    given: HashMap<Arc<str>, Arc<str>>,
    /// What some original became.
    stand_ins: HashSet<Arc<str>>,
}

impl Names {
    /// Begins with the names of the conversation that are admitted.
    pub(super) fn new(rules: &'static Rules, taken: HashSet<String>) -> Self {
        Self { rules, taken, given: HashMap::new(), stand_ins: HashSet::new() }
    }

    /// Rewrites the names that the dialect does not admit.
    pub(super) fn sanitise(&mut self, message: &mut Canonical) {
        let mut repairs = Vec::new();
        if let Some(name) = &mut message.name {
            repairs.extend(self.admit(&self.rules.speakers, name));
        }
        for name in message.functions_mut() {
            repairs.extend(self.admit(&self.rules.functions, name));
        }
        message.repairs.extend(repairs);
    }

    fn admit(&mut self, rule: &NameRule, name: &mut String) -> Option<Repair> {
        // A message that was edited meanwhile may bring a name that stands for another one.
        if rule.admits(name) && !self.stand_ins.contains(name.as_str()) {
            if !self.taken.contains(name) {
                self.taken.insert(name.clone());
            }
            return None;
        }
        let (original, sanitised) = self.stand_in(rule, name);
        sanitised.as_ref().clone_into(name);
        Some(Repair::NameSanitised { original, sanitised })
    }

    /// Returns a name, and what stands for it.
    fn stand_in(&mut self, rule: &NameRule, name: &str) -> (Arc<str>, Arc<str>) {
        if let Some((original, given)) = self.given.get_key_value(name) {
            return (Arc::clone(original), Arc::clone(given));
        }
        let (original, given): (Arc<str>, Arc<str>) =
            (name.into(), distinct(rule, name, &mut self.taken).into());
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

/// Returns the names in a message that are admitted as they are, without that of the speaker.
pub(super) fn admitted_functions<'a>(
    rules: &'static Rules,
    message: &'a Canonical,
) -> impl Iterator<Item = &'a String> {
    message.functions().filter(|name| rules.functions.admits(name))
}

/// Returns the name of the speaker if it is admitted as it is.
pub(super) fn admitted_speaker<'a>(
    rules: &'static Rules,
    message: &'a Canonical,
) -> Option<&'a String> {
    message.name.as_ref().filter(|name| rules.speakers.admits(name))
}

/// Returns an admitted name that no other name of the conversation is, and takes it.
fn distinct(rule: &NameRule, original: &str, taken: &mut HashSet<String>) -> String {
    let plain = rule.bend(original);
    let mut name = plain.clone();
    let mut round = 0_u64;
    while !taken.insert(name.clone()) {
        let digest = short_digest(original, round);
        let kept: String = plain.chars().take(rule.max_chars - 1 - digest.len()).collect();
        name = format!("{kept}_{digest}");
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
        assert_eq!(distinct(&NameRule::WORD, "Zoë W.", &mut taken), "Zo__W_");
        assert_eq!(distinct(&NameRule::WORD, &"é".repeat(70), &mut taken), "_".repeat(64));
    }

    #[test]
    fn names_that_would_be_one_stay_two() {
        let mut taken = HashSet::from(["a_b".to_owned()]);
        let first = distinct(&NameRule::WORD, "a b", &mut taken);
        let second = distinct(&NameRule::WORD, "a.b", &mut taken);
        assert!(first.starts_with("a_b_") && first.len() == 12);
        assert_ne!(first, second);
        let long = distinct(&NameRule::WORD, &"x".repeat(65), &mut taken);
        let longer = distinct(&NameRule::WORD, &"x".repeat(66), &mut taken);
        assert_eq!((long.len(), longer.len()), (64, 64));
        assert_ne!(long, longer);
    }
}
