//! Inputs of users to a workflow, with the paths and shapes of `MozaiksAI`.

pub(crate) mod say;
pub(crate) mod submit;
