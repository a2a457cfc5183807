use std::convert::Infallible;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use persistence::Store;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::catch_up::{CatchUp, CatchUpCause};
use super::client::JoinedClient;
use super::close::{CloseReason, close};
use super::envelope::Envelope;
use super::error::{ErrorCode, FrameError};
use super::event_frame::event_frame;
use super::frame::{Boundary, Frame, InputAck, Meta};
use super::request::{Request, ResumeRequest};
use super::submit::submit;
use crate::admission::{Rates, Reservation};
use crate::config::LimitsConfig;
use crate::live::{Delivery, Event, Position, StreamLimits};
use crate::metrics::{SubscriberMetrics, Transport};
use crate::problem::Problem;
use crate::state::AppState;

/// The most pings in a row without any frame from the client; after the next one the socket is closed.
const MAX_UNANSWERED_PINGS: u32 = 2;

/// One client on an open WebSocket: sends it the events of its chat, and handles the frames it sends.
pub(super) struct SocketConnection {
    socket: WebSocket,
    client: JoinedClient,
    /// The catching up under way; `None` once the client has caught up.
    catch_up: Option<CatchUp>,
    envelope: Envelope,
    store: Arc<dyn Store>,
    rates: Arc<Rates>,
    limits: Arc<LimitsConfig>,
    metrics: SubscriberMetrics,
    rate_limiter: DefaultDirectRateLimiter,
    /// The number of frames in a row that were refused by the rate limit.
    refused_frames: u32,
    /// The number of pings since the last frame from the client.
    unanswered_pings: u32,
}

/// Why a connection ends; `None` if the client is gone, so that no close frame can be sent.
type Ended = Option<CloseReason>;

impl SocketConnection {
    pub(super) fn new(
        socket: WebSocket,
        client: JoinedClient,
        catch_up: CatchUp,
        envelope: Envelope,
        state: &AppState,
    ) -> Self {
        Self {
            socket,
            client,
            catch_up: Some(catch_up),
            envelope,
            store: Arc::clone(&state.store),
            rates: Arc::clone(&state.rates),
            limits: Arc::clone(&state.limits),
            metrics: state.metrics.live.subscriber(Transport::WebSocket),
            rate_limiter: RateLimiter::direct(quota(&state.limits)),
            refused_frames: 0,
            unanswered_pings: 0,
        }
    }

    /// Serves the client until it leaves or a limit is reached.
    pub(super) async fn run(mut self, meta: Meta, memory: Reservation, limits: StreamLimits) {
        let reason = tokio::select! {
            biased;
            end = limits.reached() => Some(end.into()),
            Err(ended) = self.exchange_frames(meta, memory) => ended,
        };
        let Self { socket, client: JoinedClient { subscription, presence, .. }, .. } = self;
        // The permit is given back before the closing handshake, which may take seconds.
        drop(subscription);
        let withdraw = async {
            if let Some(presence) = presence {
                presence.withdraw().await;
            }
        };
        tokio::join!(close(socket, reason), withdraw);
    }

    async fn exchange_frames(
        &mut self,
        meta: Meta,
        memory: Reservation,
    ) -> Result<Infallible, Ended> {
        self.send(Frame::Meta(Box::new(meta)).to_json()).await?;
        drop(memory);
        let period = self.limits.keep_alive();
        let mut pings = interval_at(Instant::now() + period, period);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                // Frames from the client come first: a busy chat must not delay its close or its answer.
                biased;
                received = self.socket.recv() => self.receive(received).await?,
                _ = pings.tick() => self.ping().await?,
                delivery = self.client.subscription.next() => match delivery {
                    Some(delivery) => self.deliver(&delivery).await?,
                    None => return Err(Some(CloseReason::chat_gone())),
                },
            }
        }
    }

    async fn deliver(&mut self, delivery: &Delivery) -> Result<(), Ended> {
        self.metrics.event_sent();
        let subscription = &self.client.subscription;
        if let Event::CaughtUp(_) = delivery.event {
            let (Some(catch_up), Some(head)) = (self.catch_up.take(), subscription.sent_head())
            else {
                return Ok(());
            };
            let boundary = Boundary::new(&catch_up, subscription.position(), head);
            return self.send(Frame::Boundary(boundary).to_json()).await;
        }
        if let Some(catch_up) = &mut self.catch_up {
            catch_up.record(delivery);
        }
        let text = event_frame(&self.client.chat_id, delivery, self.catch_up.is_some());
        let seq = match &delivery.event {
            Event::Message(message) => Some(message.sequence),
            _ => None,
        };
        self.send_in_envelope(text, seq).await
    }

    async fn receive(
        &mut self,
        received: Option<Result<Message, axum::Error>>,
    ) -> Result<(), Ended> {
        let received = received.ok_or(None)?;
        let message = received.map_err(|error| CloseReason::from_receive_error(&error))?;
        self.unanswered_pings = 0;
        if let Err(until) = self.rate_limiter.check() {
            let wait = until.wait_time_from(DefaultClock::default().now());
            return self.refuse_frame(wait).await;
        }
        self.refused_frames = 0;
        match message {
            Message::Text(text) => self.handle_request(&text).await,
            Message::Binary(_) => Err(Some(CloseReason::binary_frame())),
            Message::Ping(_) | Message::Pong(_) => Ok(()),
            Message::Close(_) => Err(None),
        }
    }

    /// Refuses a frame above the rate limit; closes the socket of a client that keeps sending.
    async fn refuse_frame(&mut self, wait: Duration) -> Result<(), Ended> {
        self.refused_frames += 1;
        if self.refused_frames > self.limits.frames_burst {
            return Err(Some(CloseReason::too_many_frames()));
        }
        let message = format!(
            "the frame was ignored: the limit is {} frames per second; send it again after retry_after_ms",
            self.limits.frames_per_sec
        );
        let error = FrameError::new(&self.client.chat_id, ErrorCode::RateLimitExceeded, message);
        self.send(Frame::Error(error.with_retry_after(wait)).to_json()).await
    }

    async fn handle_request(&mut self, text: &str) -> Result<(), Ended> {
        let reply = match Request::read(text, &self.client.chat_id, self.envelope) {
            Ok(Request::Ignored) => Ok(None),
            Ok(Request::Resume(request)) => self.resume(&request).await.map(|()| None),
            Ok(Request::Submit(request)) => {
                let JoinedClient { scope, chat_id, user_id, .. } = &self.client;
                let submitted = match self.rates.check_person(scope.caller.person()) {
                    Ok(()) => submit(&*self.store, scope, chat_id, user_id, request).await,
                    Err(problem) => {
                        let code = ErrorCode::RateLimitExceeded;
                        let error = FrameError::from_problem(chat_id, code, &problem);
                        Err(error.with_event_id(request.event_id.as_ref()))
                    }
                };
                submitted.map(|submitted| Some(Frame::InputAck(InputAck::new(chat_id, submitted))))
            }
            Err(error) => Err(error),
        };
        match reply.unwrap_or_else(|error| Some(Frame::Error(error))) {
            Some(frame) => self.send(frame.to_json()).await,
            None => Ok(()),
        }
    }

    /// Continues after the last message that the client says it has.
    async fn resume(&mut self, request: &ResumeRequest) -> Result<(), Box<FrameError>> {
        let next = request.last_client_index.max(-1).saturating_add(1).unsigned_abs();
        let at = self.client.subscription.resume(Position { next, revision: 0 }).await;
        let at = at.map_err(|error| {
            let problem = Problem::from(error);
            FrameError::from_problem(&self.client.chat_id, ErrorCode::ResumeFailed, &problem)
        })?;
        self.catch_up = Some(CatchUp::new(CatchUpCause::Request, at));
        Ok(())
    }

    async fn ping(&mut self) -> Result<(), Ended> {
        if self.unanswered_pings == MAX_UNANSWERED_PINGS {
            return Err(Some(CloseReason::pings_unanswered()));
        }
        self.unanswered_pings += 1;
        self.socket.send(Message::Ping(Vec::new().into())).await.map_err(|_| None)
    }

    async fn send(&mut self, text: String) -> Result<(), Ended> {
        self.send_in_envelope(text, None).await
    }

    async fn send_in_envelope(&mut self, text: String, seq: Option<u64>) -> Result<(), Ended> {
        let text = self.envelope.wrap(text, seq);
        self.socket.send(Message::Text(text.into())).await.map_err(|_| None)
    }
}

fn quota(limits: &LimitsConfig) -> Quota {
    let positive = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
    Quota::per_second(positive(limits.frames_per_sec)).allow_burst(positive(limits.frames_burst))
}
