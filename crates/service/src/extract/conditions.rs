//! The conditions that a write may depend on, as types: `ChatScope<Run, Fenced>`.

use super::{fencing_token, if_match};
use crate::operation::Description;
use crate::problem::ProblemKind;

/// The headers with conditions that a route honours.
pub(crate) trait Conditions: Send + Sync + 'static {
    fn describe(_description: &mut Description) {}
}

/// The route is a read, or its write depends on nothing that the caller knows.
#[derive(Debug)]
pub(crate) struct Unconditional;

/// The write depends on a lease, if the header `Fencing-Token` names it.
#[derive(Debug)]
pub(crate) struct Fenced;

/// The write depends on a lease, and on the version of the record that the header `If-Match` names.
#[derive(Debug)]
pub(crate) struct Conditional;

/// The write depends on the version of the record that the header `If-Match` names.
#[derive(Debug)]
pub(crate) struct Seen;

impl Conditions for Unconditional {}

impl Conditions for Fenced {
    fn describe(description: &mut Description) {
        description.parameter(fencing_token::described());
        description.problems(&[ProblemKind::FENCED]);
    }
}

impl Conditions for Conditional {
    fn describe(description: &mut Description) {
        Fenced::describe(description);
        Seen::describe(description);
    }
}

impl Conditions for Seen {
    fn describe(description: &mut Description) {
        description.parameter(if_match::described());
        description.honours_if_match();
    }
}
