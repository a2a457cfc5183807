//! Everything the crate promises, from outside.

mod ag2;
mod anthropic;
mod assembly;
mod call_stack;
mod fixtures;
mod large;
mod losses;
mod media;
mod normalize;
mod openai;
mod parse;
mod plan;
mod properties;
mod providers;
mod real;
mod replay;
mod snapshots;
mod strategies;
mod transcript;
mod unsettled;
mod window;
mod written;
