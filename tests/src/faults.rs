//! Faults on real processes, under a workload whose history is recorded and checked.

pub mod body;
pub mod checker;
pub mod cluster;
pub mod fault;
pub mod final_state;
pub mod history;
pub mod matrix;
pub mod report;
pub mod trial;
pub mod workload;
