use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context;
use indicatif::ProgressBar;
use persistence::Wallets as _;
use persistence::mongo::MongoStore;
use records::{AppId, Scope, Wallet, WalletEntry};

use crate::backend::Backend;
use crate::progress;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(after_help = "Services may go on meanwhile. Exits with 1 if there is a difference. \
                        Examples:\n  reprise wallets verify\n  reprise wallets verify --app \
                        acme_corp")]
pub(crate) struct Arguments {
    /// Only the wallets of this app.
    #[arg(long, value_name = "APP")]
    app: Option<AppId>,
}

/// How many wallets or entries are read at a time.
const PAGE: usize = 1_000;

/// Verifies the wallets of one app, or of all.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let backend = Backend::join(settings).await?;
    let mut verification = Verification {
        store: &backend.store,
        bar: progress::bar("entries")?,
        wallets: 0,
        differences: 0,
    };
    let verified = verification.verify(arguments.app.as_ref()).await;
    verification.bar.finish_and_clear();
    let Verification { wallets, differences, .. } = verification;
    backend.close().await;
    verified.context("cannot verify the wallets")?;
    writeln!(std::io::stdout(), "{wallets} wallets verified, {differences} differences")?;
    Ok(if differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Verification<'a> {
    store: &'a MongoStore,
    bar: ProgressBar,
    wallets: u64,
    differences: u64,
}

impl Verification<'_> {
    async fn verify(&mut self, app: Option<&AppId>) -> anyhow::Result<()> {
        if let Some(app) = app {
            return self.verify_app(app).await;
        }
        let mut after = None;
        while let Some(app) = self.store.next_app_with_wallets(after.as_ref()).await? {
            self.verify_app(&app).await?;
            after = Some(app);
        }
        Ok(())
    }

    async fn verify_app(&mut self, app: &AppId) -> anyhow::Result<()> {
        let scope = Scope::service(app.clone());
        let mut after = None;
        loop {
            let page = self.store.list_wallets(&scope, PAGE, after.as_ref()).await?;
            self.bar.inc_length(page.wallets.iter().map(|wallet| wallet.entry_count).sum());
            for wallet in &page.wallets {
                let entries = self.entries(&scope, wallet).await?;
                self.wallets += 1;
                for difference in differences(wallet, &entries) {
                    self.differences += 1;
                    let (app, user) = (&wallet.app_id, &wallet.user_id);
                    let line = format!("{app} {user}: {difference}");
                    self.bar.suspend(|| writeln!(std::io::stdout(), "{line}"))?;
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Reads the entries that the wallet had when it was read, oldest first.
    async fn entries(&self, scope: &Scope, wallet: &Wallet) -> anyhow::Result<Vec<WalletEntry>> {
        let mut entries = Vec::new();
        let mut before = Some(wallet.entry_count);
        while before.is_some() {
            let listing =
                self.store.list_wallet_entries(scope, &wallet.user_id, PAGE, before).await?;
            self.bar.inc(listing.entries.len() as u64);
            entries.extend(listing.entries);
            before = listing.next;
        }
        entries.reverse();
        Ok(entries)
    }
}

/// Says where a wallet and its entries, oldest first, do not add up.
///
/// A balance that is off as much as the one before it is not told again.
fn differences(wallet: &Wallet, entries: &[WalletEntry]) -> Vec<String> {
    let mut differences = Vec::new();
    let (mut sum, mut off) = (0_i64, 0_i64);
    let count = entries.len() as u64;
    if count != wallet.entry_count {
        differences.push(format!("{} entries were made, {count} are there", wallet.entry_count));
    }
    for entry in entries {
        sum = sum.saturating_add(entry.amount);
        let was_off = std::mem::replace(&mut off, entry.balance.saturating_sub(sum));
        if off != was_off {
            let (id, balance) = (&entry.entry_id, entry.balance);
            let was = format!("the balance after entry {id} is {balance}");
            differences.push(format!("{was}, the entries up to it add up to {sum}"));
        }
    }
    if wallet.balance != sum {
        differences.push(format!("the balance is {}, the entries add up to {sum}", wallet.balance));
    }
    differences
}
