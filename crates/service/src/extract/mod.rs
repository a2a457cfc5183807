//! How a request becomes typed values: extractors parse and refuse, so that handlers need not.

mod accepted;
mod body;
mod fencing;
mod form;
mod json;
mod listener;
mod metrics_reader;
mod operator;
mod params;
mod path;
mod query;
mod scope;
mod stats;
mod ticket;
mod visit;
mod wallet;

pub(crate) use accepted::Accepted;
pub(crate) use fencing::FencingToken;
pub(crate) use form::Form;
pub(crate) use json::{Json, MergePatch, OptionalJson, parse, typed};
pub(crate) use listener::{LastEventId, Listener, TokenExpiry};
pub(crate) use metrics_reader::MetricsReader;
pub(crate) use operator::{OfApp, Operator};
pub(crate) use params::Params;
pub(crate) use path::{
    CallName, ContextVersionNumber, InputRequestName, Sequence, StackName, UserName,
};
pub(crate) use query::{FromParams, Query};
pub(crate) use scope::{Anywhere, InApp, InChat, admitted_to_chat, check_is_own};
pub(crate) use stats::{OfApps, OfWorkflow, StatsReader};
pub(crate) use ticket::TICKET;
pub(crate) use visit::{Place, Visit};
pub(crate) use wallet::{FillWallet, InWallet, OfUser};
