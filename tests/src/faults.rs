//! Faults on real processes, under a workload whose history is recorded and checked.

pub mod checker;
pub mod history;
