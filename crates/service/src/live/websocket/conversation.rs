use std::convert::Infallible;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use persistence::Store;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::close::{Closing, close};
use super::entrance::Joined;
use super::error::{ErrorCode, FrameError};
use super::event;
use super::frame::{Boundary, Frame, InputAck, Meta};
use super::request::{Request, ResumeRequest};
use super::resume::{Cause, Resume};
use super::submit::submit;
use crate::config::Limits;
use crate::live::event::Delivery;
use crate::live::{Ends, Position};
use crate::metrics::{Listening, Transport};
use crate::problem::Problem;
use crate::state::AppState;

/// How many pings may remain without any answer.
const MAX_UNANSWERED: u32 = 2;

/// Somebody who listens to a chat over a socket, and says something now and then.
pub(super) struct Conversation {
    socket: WebSocket,
    joined: Joined,
    /// What they catch up with; `None` when they have.
    resume: Option<Resume>,
    store: Arc<dyn Store>,
    limits: Arc<Limits>,
    listening: Listening,
    frames: DefaultDirectRateLimiter,
    /// Frames in a row that came too fast.
    refused: u32,
    /// Pings in a row after which nothing was heard.
    unanswered: u32,
}

/// Why a conversation ends; `None` where there is nobody left to tell.
type Ended = Option<Closing>;

impl Conversation {
    pub(super) fn new(socket: WebSocket, joined: Joined, resume: Resume, state: &AppState) -> Self {
        Self {
            socket,
            joined,
            resume: Some(resume),
            store: Arc::clone(&state.store),
            limits: Arc::clone(&state.limits),
            listening: state.metrics.live.listening(Transport::WebSocket),
            frames: RateLimiter::direct(quota(&state.limits)),
            refused: 0,
            unanswered: 0,
        }
    }

    /// Goes on until either side ends it.
    pub(super) async fn run(mut self, meta: Meta, ends: Ends) {
        let closing = tokio::select! {
            biased;
            end = ends.reached() => Some(end.into()),
            Err(ended) = self.talk(meta) => ended,
        };
        let Self { socket, joined: Joined { subscription, announced, .. }, .. } = self;
        drop(subscription);
        let withdrawing = async {
            if let Some(announced) = announced {
                announced.withdrawn().await;
            }
        };
        tokio::join!(close(socket, closing), withdrawing);
    }

    async fn talk(&mut self, meta: Meta) -> Result<Infallible, Ended> {
        self.send(Frame::Meta(Box::new(meta)).text()).await?;
        let period = self.limits.keep_alive();
        let mut pings = interval_at(Instant::now() + period, period);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                received = self.socket.recv() => self.take(received).await?,
                _ = pings.tick() => self.ping().await?,
                delivery = self.joined.subscription.next() => match delivery {
                    Some(delivery) => self.deliver(&delivery).await?,
                    None => return Err(Some(Closing::gone())),
                },
            }
        }
    }

    async fn deliver(&mut self, delivery: &Delivery) -> Result<(), Ended> {
        self.listening.told();
        let subscription = &self.joined.subscription;
        if delivery.event.is_caught_up() {
            let (Some(resume), Some(head)) = (self.resume.take(), subscription.told()) else {
                return Ok(());
            };
            let boundary = Boundary::of(&resume, subscription.held(), head);
            return self.send(Frame::Boundary(boundary).text()).await;
        }
        if let Some(resume) = &mut self.resume {
            resume.take(delivery);
        }
        let text = event::text(&self.joined.chat_id, delivery, self.resume.is_some());
        self.send(text).await
    }

    async fn take(&mut self, received: Option<Result<Message, axum::Error>>) -> Result<(), Ended> {
        let message = received.ok_or(None)?.map_err(|error| Closing::after(&error))?;
        self.unanswered = 0;
        if let Err(until) = self.frames.check() {
            let wait = until.wait_time_from(DefaultClock::default().now());
            return self.refuse(wait).await;
        }
        self.refused = 0;
        match message {
            Message::Text(text) => self.answer(&text).await,
            Message::Binary(_) => Err(Some(Closing::binary())),
            Message::Ping(_) | Message::Pong(_) => Ok(()),
            Message::Close(_) => Err(None),
        }
    }

    /// Refuses a frame that came too fast, and ends it with who does not take notice.
    async fn refuse(&mut self, wait: Duration) -> Result<(), Ended> {
        self.refused += 1;
        if self.refused > self.limits.frames_burst {
            return Err(Some(Closing::flood()));
        }
        let message = "frames come too fast, this one was left out";
        let error = FrameError::new(&self.joined.chat_id, ErrorCode::RateLimitExceeded, message);
        self.send(Frame::Error(error.retry_after(wait)).text()).await
    }

    async fn answer(&mut self, text: &str) -> Result<(), Ended> {
        let answered = match Request::read(text, &self.joined.chat_id) {
            Ok(Request::Resume(request)) => self.resume(&request).await.map(|()| None),
            Ok(Request::Submit(request)) => {
                let Joined { scope, chat_id, user_id, .. } = &self.joined;
                let submitted = submit(&*self.store, scope, chat_id, user_id, request).await;
                submitted.map(|submitted| Some(Frame::InputAck(InputAck::of(chat_id, submitted))))
            }
            Err(error) => Err(error),
        };
        match answered.unwrap_or_else(|error| Some(Frame::Error(error))) {
            Some(frame) => self.send(frame.text()).await,
            None => Ok(()),
        }
    }

    /// Goes on from what the client says to hold.
    async fn resume(&mut self, request: &ResumeRequest) -> Result<(), Box<FrameError>> {
        let next = request.last_client_index.max(-1).saturating_add(1).unsigned_abs();
        let at = self.joined.subscription.resume(Position { next, revision: 0 }).await;
        let at = at.map_err(|error| {
            let problem = Problem::from(error);
            FrameError::of(&self.joined.chat_id, ErrorCode::ResumeFailed, &problem)
        })?;
        self.resume = Some(Resume::new(Cause::Request, at));
        Ok(())
    }

    async fn ping(&mut self) -> Result<(), Ended> {
        if self.unanswered == MAX_UNANSWERED {
            return Err(Some(Closing::silent()));
        }
        self.unanswered += 1;
        self.socket.send(Message::Ping(Vec::new().into())).await.map_err(|_| None)
    }

    async fn send(&mut self, text: String) -> Result<(), Ended> {
        self.socket.send(Message::Text(text.into())).await.map_err(|_| None)
    }
}

fn quota(limits: &Limits) -> Quota {
    let positive = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
    Quota::per_second(positive(limits.frames_per_sec)).allow_burst(positive(limits.frames_burst))
}
