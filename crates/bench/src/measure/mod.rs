//! Compares two ways of doing the same work on a machine with other load.
//!
//! A *lane* does one thing over and over. All lanes of a contest take turns on one server: each
//! round, every lane runs one short lap with the same messages, and the first lane changes from
//! round to round. Two lanes are compared within each round, when the machine was the same for both,
//! and the reported ratio is the median of the rounds.

mod comparison;
mod contest;
mod cpu_time;
mod delays;
mod lane;
mod lap;
mod quantiles;

pub(crate) use comparison::{Comparison, Measure, Spread, Summary, Target};
pub(crate) use contest::Contest;
pub(crate) use cpu_time::CpuTime;
pub(crate) use delays::Delays;
pub(crate) use lane::{Deliver, Load, Read, Write};
pub(crate) use lap::Lap;
pub(crate) use quantiles::quantile;
