//! Everything the crate promises, from outside.

mod ag2;
mod ag_ui;
mod anthropic;
mod assembly;
mod call_stack;
mod fixtures;
mod large;
mod losses;
mod media;
mod normalize;
mod openai;
mod openai_responses;
mod parse;
mod plan;
mod properties;
mod providers;
mod pydantic_ai;
mod real;
mod replay;
mod round_trip;
mod snapshots;
mod strategies;
mod transcript;
mod unsettled;
mod window;
mod written;
