use persistence::StoreError;

use crate::problem::Problem;

/// The form in which records were sent: the body is one, or it has a list of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Form {
    /// The field of the list.
    field: &'static str,
    is_one: bool,
}

impl Form {
    pub(crate) fn one(field: &'static str) -> Self {
        Self { field, is_one: true }
    }

    pub(crate) fn several(field: &'static str) -> Self {
        Self { field, is_one: false }
    }

    /// Returns where in the body a record stands.
    pub(crate) fn pointer_to(self, index: usize) -> String {
        if self.is_one { String::new() } else { format!("/{}/{index}", self.field) }
    }

    /// Turns an error of the store, which always counts records, into one about this body.
    pub(crate) fn problem(self, error: StoreError) -> Problem {
        let problem = Problem::from(error);
        if self.is_one { problem.moved(&format!("/{}/0", self.field), "") } else { problem }
    }
}
