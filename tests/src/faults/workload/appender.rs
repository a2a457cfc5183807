use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use super::parcel::Parcel;
use super::pen::Pen;
use super::sender::{Delivery, Sender};
use super::world::World;
use crate::faults::history::Recorder;

/// Appends messages, and often repeats them.
#[derive(Debug)]
pub(super) struct Appender {
    pen: Pen,
    rng: fastrand::Rng,
    sender: Sender,
    /// Sends the same at the same time.
    twin: Sender,
}

/// The average pause between two parcels.
const REST_MS: u64 = 20;

impl Appender {
    pub(super) fn new(own: Recorder, twin: Recorder, mut rng: fastrand::Rng) -> Self {
        let pen = Pen::new(own.client());
        let sender = Sender::new(own, rng.fork());
        Self { pen, sender, twin: Sender::new(twin, rng.fork()), rng }
    }

    pub(super) async fn run(mut self, world: Arc<World>) -> Result<()> {
        while world.is_working() {
            world.rest().await?;
            match self.rng.u8(..100) {
                0..8 => self.repeat(&world).await?,
                8..12 => self.send_twice_at_once(&world).await?,
                _ => self.send(&world).await?,
            }
            sleep(Duration::from_millis(self.rng.u64(..2 * REST_MS))).await;
        }
        self.sender.finish()?;
        self.twin.finish()
    }

    /// Sends a new parcel.
    async fn send(&mut self, world: &World) -> Result<()> {
        let parcel = self.parcel(world);
        if self.sender.deliver(world, &parcel).await? == Delivery::Acknowledged {
            world.remember(parcel, &mut self.rng);
        }
        Ok(())
    }

    /// Sends a new parcel twice at the same time.
    async fn send_twice_at_once(&mut self, world: &World) -> Result<()> {
        let parcel = self.parcel(world);
        let deliveries = (self.sender.deliver(world, &parcel), self.twin.deliver(world, &parcel));
        tokio::try_join!(deliveries.0, deliveries.1)?;
        Ok(())
    }

    /// Repeats a parcel that any client has sent before.
    async fn repeat(&mut self, world: &World) -> Result<()> {
        if let Some(parcel) = world.any_delivered(&mut self.rng) {
            self.sender.deliver(world, &parcel).await?;
        }
        Ok(())
    }

    /// Writes one message, or now and then a few.
    fn parcel(&mut self, world: &World) -> Arc<Parcel> {
        let count = if self.rng.u8(..8) == 0 { self.rng.usize(2..6) } else { 1 };
        let messages = (0..count).map(|_| self.pen.message(&mut self.rng)).collect();
        Arc::new(Parcel { chat: world.any_chat(&mut self.rng).to_owned(), messages })
    }
}
