//! How two ways of doing the same are compared on a machine that is never quiet.
//!
//! A *lane* does one thing over and over. All lanes of a contest take turns on one server: each
//! round, every lane does one short lap with the same messages, and the lane that begins changes from
//! round to round. Two lanes are compared within each round, where the machine was the same for both,
//! and the ratio that counts is the median of the rounds.

mod comparison;
mod contest;
mod delays;
mod lane;
mod lap;
mod quantiles;

pub(crate) use comparison::{Comparison, Measure, Spread, Summary, Target};
pub(crate) use contest::Contest;
pub(crate) use delays::Delays;
pub(crate) use lane::{Deliver, Load, Read, Write};
use lap::Lap;
