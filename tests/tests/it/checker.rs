//! The checker accepts every history that a correct service can have, and none with a defect.

mod defect;
mod model;

use std::time::Duration;

use proptest::prelude::*;
use tests::faults::checker::{Kind, Rules, check};
use tests::faults::history::History;

use defect::Defect;
use model::history;

fn kinds(history: &History) -> Vec<Kind> {
    let codes = ["outcome-unknown", "store-unavailable"].map(str::to_owned).into();
    let rules = Rules { codes, deadline: Duration::from_secs(1) };
    check(history, &rules).into_iter().map(|finding| finding.kind).collect()
}

proptest! {
    #[test]
    fn a_correct_history_has_no_findings(history in history()) {
        prop_assert_eq!(kinds(&history), []);
    }

    #[test]
    fn a_single_defect_is_found(
        mut history in history(),
        defect in prop::sample::select(Defect::ALL.as_slice()),
        place in any::<prop::sample::Index>(),
    ) {
        let is_planted = defect.plant(&mut history, place);
        prop_assume!(is_planted);
        let kinds = kinds(&history);
        prop_assert!(kinds.contains(&defect.kind()), "{defect:?} gave {kinds:?}");
    }
}
