//! What bringing a conversation into a form costs, in messages a second.

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{
    BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main,
};
use records::{DateTime, EventId, Message, MessageBody, Utc};
use resume::dialect::{self, Dialect};
use resume::replay::Survey;
use resume::{Options, normalize, window};
use serde_json::{Value, json};
