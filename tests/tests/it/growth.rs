//! The documents of a growing chat stay small, and its messages complete.
//!
//! The binary `growth` measures the cost of the appends, without other tests at the same time.

use anyhow::Result;
use indicatif::ProgressBar;
use local_mongod::{LocalMongod, Options};
use tests::growth::{Plan, grow};

#[tokio::test]
async fn a_growing_chat_keeps_every_message_in_small_documents() -> Result<()> {
    let mongod = LocalMongod::start(Options::for_tests()).await?;
    let plan = Plan { messages: 2_000, megabytes: 10 };
    let report = grow(mongod.uri(), plan, &ProgressBar::hidden()).await?;
    assert_eq!(report.too_large().collect::<Vec<_>>(), [""; 0]);
    assert!(report.largest.contains_key("chat_segments"), "nothing was sealed");
    assert!(report.largest.contains_key("chat_blobs"), "nothing was moved out of the session");
    mongod.stop().await;
    Ok(())
}
