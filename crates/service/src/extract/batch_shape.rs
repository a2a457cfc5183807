use axum::extract::Request;
use records::Location;
use serde::de::DeserializeOwned;

use super::idempotency_key::{IdempotencyKey, Keyed};
use super::json::{JSON, LimitedLists, read_json};
use crate::problem::Problem;
use crate::state::AppState;

/// Whether a body is a single record, or an object with a list of records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BatchShape {
    is_single: bool,
}

impl BatchShape {
    /// Reads a body that is one record, or has the one list of `Several`.
    pub(crate) async fn read<One, Several>(
        request: Request,
        state: &AppState,
    ) -> Result<(Self, Vec<One>), Problem>
    where
        One: DeserializeOwned + Keyed + Send + 'static,
        Several: DeserializeOwned + LimitedLists + Into<Vec<One>> + Send + 'static,
    {
        let key = IdempotencyKey::of(&request)?;
        let body = read_json(request, state, &[JSON], Several::LISTS).await?;
        let list_field = Several::LISTS[0].field;
        let is_single = !body.scanned.has_list;
        let mut records: Vec<One> = if is_single {
            vec![body.parse().await?]
        } else {
            body.parse::<Several>().await?.into()
        };
        for (index, record) in records.iter_mut().enumerate() {
            let Some(key) = &key else { break };
            let of_record = if is_single { key.clone() } else { key.nth(list_field, index) };
            record.set_key(&of_record)?;
        }
        Ok((Self { is_single }, records))
    }

    /// Creates the problem of an error, with locations that fit this body.
    ///
    /// The store always takes a list, so its errors name an item of a list even where the body is one record.
    pub(crate) fn problem(self, error: impl Into<Problem>) -> Problem {
        let place = |at| if self.is_single { Location { item: None, ..at } } else { at };
        Problem::located(error, place)
    }
}
