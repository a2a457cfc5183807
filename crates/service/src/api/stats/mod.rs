//! Statistics: what workflows do and cost.

mod fields;

pub(crate) mod apps;
pub(crate) mod chats;
pub(crate) mod series;
pub(crate) mod workflow;
pub(crate) mod workflows;

use fields::{Percentiles, Summary, percentiles_of_calls};
