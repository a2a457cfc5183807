use anyhow::{Context as _, Result};
use indicatif::ProgressBar;
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval};
use tokio_util::sync::CancellationToken;

use super::Chat;
use crate::messages::SharedSource;

/// Appends to one chat after the other that are begun at each tick, however long the others take.
#[derive(Debug)]
pub(crate) struct SteadyAppends {
    pub(crate) source: SharedSource,
    pub(crate) chats: Vec<Chat>,
    pub(crate) ticks: Interval,
    /// How many are begun at a tick.
    pub(crate) each_tick: usize,
    /// How many may wait for their acknowledgement. A machine that cannot store so many stores what it can.
    pub(crate) most: usize,
}

impl SteadyAppends {
    /// Goes on until it is ended. Returns how many messages were stored each second.
    pub(crate) async fn run(mut self, ending: CancellationToken) -> Result<f64> {
        let (began, mut stored) = (Instant::now(), 0_u32);
        let mut chats = self.chats.iter().cycle();
        let mut appends = JoinSet::new();
        loop {
            self.ticks.tick().await;
            if ending.is_cancelled() {
                break;
            }
            for message in self.source.take(self.each_tick) {
                let chat = chats.next().context("there is no chat")?.clone();
                appends
                    .spawn(async move { chat.fill(&[message], 1, &ProgressBar::hidden()).await });
            }
            while let Some(append) = appends.try_join_next() {
                append??;
                stored += 1;
            }
            while appends.len() > self.most {
                if let Some(append) = appends.join_next().await {
                    append??;
                    stored += 1;
                }
            }
        }
        let elapsed = began.elapsed();
        while let Some(append) = appends.join_next().await {
            append??;
        }
        Ok(f64::from(stored) / elapsed.as_secs_f64())
    }
}
