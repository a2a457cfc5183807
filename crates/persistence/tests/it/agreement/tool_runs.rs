//! Runs of tools.

use persistence::{Began, Store, ToolRunFilter};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use records::{ChatId, NewToolRun, Scope, ToolRunId};
use store_contract::arbitrary::json_value;

use super::lockstep::moment;
use super::operation::print;

/// A call about the runs of the tools of a chat.
#[derive(Debug, Clone)]
pub(crate) enum ToolRunCall {
    Record(Vec<NewToolRun>),
    /// Lists the runs, and reads their sums.
    List,
}

impl ToolRunCall {
    /// Makes the call, and prints its answer.
    pub(crate) async fn execute(self, store: &dyn Store, scope: &Scope, chat: &ChatId) -> String {
        match self {
            Self::Record(runs) => print(store.record_tool_runs(scope, chat, runs).await),
            Self::List => {
                let (all, ever) = (ToolRunFilter::default(), Began::default());
                print((
                    store.list_tool_runs(scope, chat, &all, 100, None).await,
                    store.chat_tool_stats(scope, chat, &ever).await,
                    store.app_tool_stats(&scope.app_id, &ever).await,
                ))
            }
        }
    }
}

pub(crate) fn tool_run_call() -> impl Strategy<Value = ToolRunCall> {
    prop::collection::vec(tool_run(), 1..4).prop_map(ToolRunCall::Record)
}

fn tool_run() -> impl Strategy<Value = NewToolRun> {
    let id = option::of((0..5_u32).prop_map(|n| ToolRunId::parse(format!("run_{n}")).unwrap()));
    let tool_name = select(vec!["search".to_owned(), "a.$b".to_owned()]);
    let moment = option::of((0..4_u64).prop_map(|hour| moment(hour * 3 * 3_000)));
    let duration = option::of(select(vec![0, 40, 1_000_000]));
    (id, tool_name, json_value(), moment, duration, any::<bool>()).prop_map(
        |(run_id, tool_name, result, started_at, execution_time_ms, is_success)| NewToolRun {
            run_id,
            tool_name,
            result,
            is_success,
            execution_time_ms,
            started_at,
            ..NewToolRun::default()
        },
    )
}
