#![doc = include_str!("../README.md")]

pub mod binary;
pub mod service;
pub mod settings;

pub mod client;
pub mod database;
pub mod exposition;
mod percentile;
pub mod transcript;
pub mod waiting;

pub mod faults;
pub mod growth;
pub mod memory;
pub mod orchestrator;
pub mod signal;
