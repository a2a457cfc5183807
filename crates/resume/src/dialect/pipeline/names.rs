use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use records::json::Hasher;
use serde_json::Value;

use super::rules::{CallFields, DialectRules, NameRule};
use crate::Repair;
use crate::canonical::{Call, CanonicalMessage};

/// Replaces the names that a dialect does not accept, and keeps all names distinct.
#[derive(Debug)]
pub(super) struct NameSanitiser {
    rules: &'static DialectRules,
    /// The names in use, which no replacement may equal.
    reserved: HashSet<String>,
    /// The replacement of each original name.
    replacements: HashMap<Arc<str>, Arc<str>>,
    /// The names that replace others.
    used_replacements: HashSet<Arc<str>>,
}

impl NameSanitiser {
    /// Reserves the names of the conversation that the dialect accepts unchanged.
    pub(super) fn new(rules: &'static DialectRules, reserved: HashSet<String>) -> Self {
        Self { rules, reserved, replacements: HashMap::new(), used_replacements: HashSet::new() }
    }

    /// Replaces the names in a message that the dialect does not accept.
    pub(super) fn sanitise(&mut self, message: &mut CanonicalMessage) {
        let mut repairs = Vec::new();
        if let Some(name) = &mut message.name {
            repairs.extend(self.sanitise_name(&self.rules.speakers, name));
        }
        // A provider knows the functions that it has built in by their names.
        let is_known = |call: &Call| call.is_builtin && self.rules.call_fields == CallFields::Kept;
        let others = message.calls.iter_mut().filter(|call| !is_known(call));
        let called = others.map(|call| &mut call.target).chain(message.function_call.as_mut());
        for target in called {
            let name = &mut target.name;
            repairs.extend(self.sanitise_name(&self.rules.functions, name));
        }
        message.repairs.extend(repairs);
    }

    fn sanitise_name(&mut self, rule: &NameRule, name: &mut String) -> Option<Repair> {
        // A message that was edited after the scan may have a name that already replaces another one.
        if rule.accepts(name) && !self.used_replacements.contains(name.as_str()) {
            if !self.reserved.contains(name) {
                self.reserved.insert(name.clone());
            }
            return None;
        }
        let (original, sanitised) = self.replacement(rule, name);
        sanitised.as_ref().clone_into(name);
        Some(Repair::NameSanitised { original, sanitised })
    }

    /// Returns a name and its replacement, which is the same for all messages.
    fn replacement(&mut self, rule: &NameRule, name: &str) -> (Arc<str>, Arc<str>) {
        if let Some((original, replacement)) = self.replacements.get_key_value(name) {
            return (Arc::clone(original), Arc::clone(replacement));
        }
        let (original, replacement): (Arc<str>, Arc<str>) =
            (name.into(), unique_name(rule, name, &mut self.reserved).into());
        self.replacements.insert(Arc::clone(&original), Arc::clone(&replacement));
        self.used_replacements.insert(Arc::clone(&replacement));
        (original, replacement)
    }

    /// Returns the original of each replacement.
    pub(super) fn into_originals(self) -> BTreeMap<String, String> {
        let replacements = self.replacements.into_iter();
        replacements
            .map(|(original, replacement)| (replacement.as_ref().into(), original.as_ref().into()))
            .collect()
    }
}

/// Returns the names of functions in a message that the dialect accepts unchanged.
pub(super) fn accepted_functions<'a>(
    rules: &'static DialectRules,
    message: &'a CanonicalMessage,
) -> impl Iterator<Item = &'a String> {
    message.function_names().filter(|name| rules.functions.accepts(name))
}

/// Returns the name of the speaker if the dialect accepts it unchanged.
pub(super) fn accepted_speaker<'a>(
    rules: &'static DialectRules,
    message: &'a CanonicalMessage,
) -> Option<&'a String> {
    message.name.as_ref().filter(|name| rules.speakers.accepts(name))
}

/// Returns an accepted name that is not reserved, and reserves it.
fn unique_name(rule: &NameRule, original: &str, reserved: &mut HashSet<String>) -> String {
    let plain = rule.replace_invalid(original);
    let mut name = plain.clone();
    let mut round = 0_u64;
    while !reserved.insert(name.clone()) {
        let digest = short_digest(original, round);
        let kept: String = plain.chars().take(rule.max_chars - 1 - digest.len()).collect();
        name = format!("{kept}_{digest}");
        round += 1;
    }
    name
}

/// Returns eight digits of the digest of a name; another round gives other digits.
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
    fn invalid_characters_become_underscores_and_long_names_are_cut() {
        let mut reserved = HashSet::new();
        assert_eq!(unique_name(&NameRule::WORD, "Zoë W.", &mut reserved), "Zo__W_");
        assert_eq!(unique_name(&NameRule::WORD, &"é".repeat(70), &mut reserved), "_".repeat(64));
    }

    #[test]
    fn names_with_the_same_replacement_stay_distinct() {
        let mut reserved = HashSet::from(["a_b".to_owned()]);
        let first = unique_name(&NameRule::WORD, "a b", &mut reserved);
        let second = unique_name(&NameRule::WORD, "a.b", &mut reserved);
        assert!(first.starts_with("a_b_") && first.len() == 12);
        assert_ne!(first, second);
        let long = unique_name(&NameRule::WORD, &"x".repeat(65), &mut reserved);
        let longer = unique_name(&NameRule::WORD, &"x".repeat(66), &mut reserved);
        assert_eq!((long.len(), longer.len()), (64, 64));
        assert_ne!(long, longer);
    }
}
