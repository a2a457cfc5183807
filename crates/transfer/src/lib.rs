#![doc = include_str!("../README.md")]

pub mod jsonl;
pub mod lines;
pub mod transcripts;
