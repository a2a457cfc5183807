//! The list of an app's chats contains each chat once.

use std::collections::BTreeMap;

use super::{Finding, Kind};
use crate::faults::history::{History, Operation};

pub(super) fn check(history: &History, findings: &mut Vec<Finding>) {
    let chats = &history.final_state.stored;
    let lists = history.records.iter().filter_map(|record| match &record.operation {
        Operation::List { outcome } => outcome.ok(),
        _ => None,
    });
    for list in lists {
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for listed in list {
            *times.entry(&listed.chat).or_default() += 1;
            let count = chats.get(&listed.chat).map_or(0, |chat| chat.messages.len() as u64);
            if listed.last_sequence > count {
                let detail = format!("{} were listed, {count} exist", listed.last_sequence);
                findings.push(Finding::in_chat(Kind::Vanished, &listed.chat, detail));
            }
        }
        // All chats are created before the first list is read.
        for chat in chats.keys() {
            let times = times.get(chat.as_str()).copied().unwrap_or(0);
            if times != 1 {
                let detail = format!("it is listed {times} times");
                findings.push(Finding::in_chat(Kind::WrongList, chat, detail));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::checker::sketch::{CHAT, Sketch, kinds};

    #[test]
    fn a_list_has_each_chat_once() {
        let sketch = Sketch::new().append("a", 0, [1, 2]).ends_with(["a"]);
        assert_eq!(kinds(&sketch.clone().list([(CHAT, 1)])), []);
        assert_eq!(kinds(&sketch.clone().list([])), [Kind::WrongList]);
        assert_eq!(kinds(&sketch.clone().list([(CHAT, 0), (CHAT, 1)])), [Kind::WrongList]);
        assert_eq!(kinds(&sketch.list([(CHAT, 2)])), [Kind::Vanished]);
    }
}
