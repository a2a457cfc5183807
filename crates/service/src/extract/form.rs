use axum::extract::Request;
use persistence::StoreError;
use serde::de::DeserializeOwned;

use super::json::{read_json, typed};
use crate::problem::Problem;
use crate::state::AppState;

/// The form in which records were sent: the body is one, or it has a list of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Form {
    /// The field of the list.
    field: &'static str,
    is_one: bool,
}

impl Form {
    /// Reads a body that is one record, or has a list of them in a field.
    pub(crate) async fn read<One, Several>(
        field: &'static str,
        request: Request,
        state: &AppState,
    ) -> Result<(Self, Vec<One>), Problem>
    where
        One: DeserializeOwned,
        Several: DeserializeOwned + Into<Vec<One>>,
    {
        let body = read_json(request, state).await?;
        let is_one = body.get(field).is_none();
        let records = if is_one { vec![typed(body)?] } else { typed::<Several>(body)?.into() };
        Ok((Self { field, is_one }, records))
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
