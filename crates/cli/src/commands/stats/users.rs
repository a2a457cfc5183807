use anyhow::ensure;
use chrono::{DateTime, Utc};
use clap::ValueEnum;
use persistence::mongo::MongoStore;
use persistence::{Stats as _, UsageFilter, UsageOrder, UserStats, UserStatsPage};
use records::{AppId, UserId};
use service::responses;

use super::show::{cells, rendered, table};
use crate::backend::{Backend, expect_app};
use crate::output::Output;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A chat counts for its owner also after it was purged; chats without a user count for \
                        no user. Examples:\n  reprise stats users acme_corp --order-by tokens\n  \
                        reprise stats users acme_corp --from 2026-10-01T00:00:00Z --to \
                        2026-10-31T23:59:59Z\n  reprise stats users acme_corp user_alice"
)]
pub(crate) struct Arguments {
    /// The app.
    app: AppId,
    /// One user, with the workflows of the user's chats.
    #[arg(conflicts_with_all = ["order_by", "limit", "from", "to"])]
    user: Option<UserId>,
    /// The number by which users are listed, the greatest first.
    #[arg(long, value_enum, default_value_t = Order::Cost)]
    order_by: Order,
    /// The most users to list.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    limit: u16,
    /// Count only the calls from the hour on that contains this time.
    #[arg(long, value_name = "TIME")]
    from: Option<DateTime<Utc>>,
    /// Count only the calls up to the end of the hour that contains this time.
    #[arg(long, value_name = "TIME")]
    to: Option<DateTime<Utc>>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Order {
    Cost,
    Tokens,
    Calls,
}

impl From<Order> for UsageOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Cost => Self::Cost,
            Order::Tokens => Self::Tokens,
            Order::Calls => Self::Calls,
        }
    }
}

/// Shows what the chats of users cost.
pub(super) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<()> {
    Backend::with_store(settings, async |store| print(arguments, store).await).await
}

async fn print(arguments: &Arguments, store: &MongoStore) -> anyhow::Result<()> {
    let Arguments { app, user, order_by, limit, from, to, output } = arguments;
    expect_app(store, Some(app)).await?;
    if let Some(user) = user {
        let stats = store.user_stats(app, user).await?;
        let shown = of_user(user, &stats);
        let response = || responses::user_stats(app.clone(), user.clone(), stats);
        return output.print(response, || shown.trim_end().to_owned());
    }
    if let (Some(from), Some(to)) = (from, to) {
        ensure!(from <= to, "--from must not be after --to");
    }
    let range = responses::hours(*from, *to);
    let filter = UsageFilter { range, order: (*order_by).into() };
    let page = store.list_user_stats(app, &filter, (*limit).into(), None).await?;
    let shown = of_page(&page);
    output.print(|| responses::user_stats_page(page), || shown.trim_end().to_owned())
}

fn of_page(page: &UserStatsPage) -> String {
    let mut table = table(&["user", "calls", "tokens", "cost"]);
    for user in &page.users {
        table.add_row(std::iter::once(user.user_id.to_string()).chain(cells(&user.usage)));
    }
    rendered(&table)
}

fn of_user(user: &UserId, stats: &UserStats) -> String {
    let mut whole = table(&["user", "calls", "tokens", "cost"]);
    whole.add_row(std::iter::once(user.to_string()).chain(cells(&stats.total)));
    let mut workflows = table(&["workflow", "calls", "tokens", "cost"]);
    for (workflow_name, usage) in &stats.workflows {
        workflows.add_row(std::iter::once(workflow_name.to_string()).chain(cells(usage)));
    }
    rendered(&whole) + "\n" + &rendered(&workflows)
}
