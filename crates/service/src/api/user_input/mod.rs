//! What people say to a workflow, under the paths and in the shapes of `MozaiksAI`.

mod submission;

pub(crate) mod say;
pub(crate) mod submit;

pub(crate) use submission::{Submission, Submitted};
