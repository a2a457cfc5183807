//! An import that is killed goes on where it was.
//!
//! The binary `imports` does the same with a million messages, without other tests at the same time.

use anyhow::Result;
use indicatif::ProgressBar;
use local_mongod::{LocalMongod, Options};
use tests::memory::{Imports, imported};

#[tokio::test]
async fn an_import_that_is_killed_stores_every_message_once() -> Result<()> {
    let mongod = LocalMongod::start(Options::for_tests()).await?;
    let plan = Imports { chats: 200, messages: 100 };
    let report = imported(mongod.uri(), plan, &ProgressBar::hidden()).await?;
    assert!(report.stored_at_kill < report.messages, "nothing was left to import");
    mongod.stop().await;
    Ok(())
}
