use std::process::ExitCode;

use anyhow::Context;
use persistence::mongo::WalletVerification;
use records::{AppId, UserId};
use serde_json::json;

use crate::backend::{Backend, expect_app};
use crate::output::Output;
use crate::progress;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(after_help = "Services may run meanwhile. Exits with 1 if there is a difference. \
                        Examples:\n  reprise wallets verify\n  reprise wallets verify --app \
                        acme_corp")]
pub(crate) struct Arguments {
    /// Only the wallets of this app.
    #[arg(long, value_name = "APP")]
    app: Option<AppId>,
    #[command(flatten)]
    output: Output,
}

/// Verifies the wallets of one app, or of all.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = Backend::join(settings).await?;
    let bar = progress::bar("entries")?;
    let (mut wallets, mut differences) = (0_u64, 0_u64);
    let mut tell_difference = |app: &AppId, user: &UserId, difference: &str| {
        differences += 1;
        let object = || json!({ "app_id": app, "user_id": user, "difference": difference });
        let text = || format!("{app} {user}: {difference}");
        // If standard output is closed, there is no other place to report to.
        bar.suspend(|| drop(arguments.output.print(object, text)));
    };
    let mut tell = |proof: WalletVerification<'_>| match proof {
        WalletVerification::Wallet(wallet) => {
            wallets += 1;
            bar.inc_length(wallet.entry_count);
        }
        WalletVerification::Entries(entries) => bar.inc(entries),
        WalletVerification::Difference(wallet, difference) => {
            tell_difference(&wallet.app_id, &wallet.user_id, &difference);
        }
        WalletVerification::Orphans(app_id, user_id, entries) => {
            let difference = format!("{entries} archived entries have no wallet");
            tell_difference(app_id, user_id, &difference);
        }
    };
    let (store, app_id) = (&backend.store, arguments.app.as_ref());
    let verified = async {
        expect_app(store, app_id).await?;
        Ok(store.verify_wallets(app_id, &mut tell).await?)
    };
    let verified: anyhow::Result<()> = verified.await;
    bar.finish_and_clear();
    backend.close().await;
    verified.context("cannot verify the wallets")?;
    arguments.output.print(
        || json!({ "wallets": wallets, "differences": differences }),
        || format!("{wallets} wallets verified, {differences} differences"),
    )?;
    Ok(if differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
