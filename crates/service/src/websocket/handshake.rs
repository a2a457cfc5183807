use std::net::IpAddr;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures::try_join;
use persistence::StoreError;
use records::{ChatStatus, Permission};
use tokio::time::timeout;

use super::catch_up::{CatchUp, CatchUpCause};
use super::client::JoinedClient;
use super::close::{CloseReason, close};
use super::connection::SocketConnection;
use super::envelope::Envelope;
use super::frame::Meta;
use super::request::AuthorizeRequest;
use crate::admission::{Reservation, Subject};
use crate::auth::Identity;
use crate::extract::{SocketTarget, authorize_chat, check_acts_for, record_support};
use crate::joining;
use crate::live::{Position, Shutdown, StreamLimits};
use crate::problem::Problem;
use crate::state::AppState;

/// The largest message, and the largest frame, that a client may send, in bytes.
const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// The size of the read buffer, in bytes. Each socket allocates its own, and most sockets are idle, so
/// it is small.
const READ_BUFFER_BYTES: usize = 4 << 10;

/// The size limit of the write buffer, in bytes. It must hold the largest frame; only one frame at a time
/// waits in it.
const MAX_WRITE_BUFFER_BYTES: usize = 64 << 20;

/// The memory for the artifact that the first frame repeats, in bytes.
const ARTIFACT_ROOM: usize = 12 << 20;

/// The opening of a WebSocket: checks the client's rights, before or after the upgrade.
#[derive(Debug)]
pub(crate) struct Handshake {
    pub(crate) target: SocketTarget,
    /// The position that the client claims to have.
    pub(crate) after: Option<Position>,
    pub(crate) shutdown: Shutdown,
    /// The address of the client, if known.
    pub(crate) address: Option<IpAddr>,
    pub(crate) state: AppState,
    /// The form of the frames, unless the subprotocol says otherwise.
    pub(crate) envelope: Envelope,
}

/// A client that may join, with the first frame it is sent and the limits of its stream.
pub(crate) struct Admission {
    client: JoinedClient,
    meta: Meta,
    /// The memory of the artifact in `meta`.
    memory: Reservation,
    catch_up: CatchUp,
    limits: StreamLimits,
}

impl Handshake {
    /// Admits a caller that may read the chat.
    pub(crate) async fn admit(&self, identity: &Identity) -> Result<Admission, Problem> {
        let (target, state) = (&self.target, &self.state);
        let chat_id = &target.chat_id;
        let scope =
            authorize_chat(target.app_id.clone(), chat_id, identity, Permission::Read, state)
                .await?;
        let detail = "the user_id in the path must be the user of the token";
        check_acts_for(&scope.caller, &target.user_id, detail)?;
        record_support(state, &scope, Some(chat_id)).await?;
        // A herd that reconnects waits for its turns; the deadline of the request ends the wait.
        let memory = state.memory.of(Subject::of(&scope));
        let mut memory = memory.reserve_patiently(ARTIFACT_ROOM).await;
        let chat = state.store.get_chat(&scope, chat_id);
        let artifact = state.store.get_last_artifact(&scope, chat_id);
        let (chat, artifact) = try_join!(chat, artifact)?;
        let chat = chat.filter(|chat| chat.workflow_name == target.workflow_name);
        let chat = chat.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
        joining::open_chat(&*state.store, &scope, &chat).await?;
        let (cause, at) = match (self.after, chat.status) {
            (Some(after), _) => (CatchUpCause::JoinAfter, after),
            (None, ChatStatus::Running | ChatStatus::Paused) => {
                (CatchUpCause::Join, Position::BEGINNING)
            }
            // A client that joins a chat that has ended reads it with the history route.
            (None, _) => (CatchUpCause::Join, Position::END),
        };
        let subscription = state.hub.subscribe(&scope, chat_id, at).await?;
        let presence = state.hub.announce(&scope, chat_id);
        let shutdown = self.shutdown.clone();
        let token = state.authenticator.watch(identity, &scope.app_id);
        let limits = state.hub.stream_limits(&scope, chat_id, token, shutdown);
        let catch_up = CatchUp::new(cause, subscription.position());
        if artifact.is_none() {
            memory.shrink_to(0);
        }
        let meta = Meta::new(&chat, artifact, &target.user_id);
        let (chat_id, user_id) = (chat_id.clone(), target.user_id.clone());
        let client = JoinedClient { scope, chat_id, user_id, subscription, presence };
        Ok(Admission { client, meta, memory, catch_up, limits })
    }

    /// Responds with the upgrade to a WebSocket.
    ///
    /// Without an admission the first frame of the client must authorize it.
    pub(crate) fn upgrade(
        self,
        upgrade: WebSocketUpgrade,
        admission: Option<Admission>,
    ) -> Response {
        let tracked = self.shutdown.track_socket();
        upgrade
            .protocols([Envelope::FLAT, Envelope::NESTED])
            .read_buffer_size(READ_BUFFER_BYTES)
            .write_buffer_size(0)
            .max_write_buffer_size(MAX_WRITE_BUFFER_BYTES)
            .max_message_size(MAX_MESSAGE_BYTES)
            .max_frame_size(MAX_MESSAGE_BYTES)
            .on_upgrade(move |socket| async move {
                Box::pin(self.serve(socket, admission)).await;
                drop(tracked);
            })
    }

    async fn serve(self, mut socket: WebSocket, admission: Option<Admission>) {
        let admission = match admission {
            Some(admission) => Ok(admission),
            None => self.admit_by_first_frame(&mut socket).await,
        };
        match admission {
            Ok(Admission { client, meta, memory, catch_up, limits }) => {
                let agreed = socket.protocol().map(|protocol| protocol.as_bytes().to_vec());
                let envelope = self.envelope.agreed(agreed.as_deref());
                let connection =
                    SocketConnection::new(socket, client, catch_up, envelope, &self.state);
                connection.run(meta, memory, limits).await;
            }
            Err(reason) => close(socket, reason).await,
        }
    }

    /// Waits for the first frame, which carries the token. The client is sent nothing before that.
    async fn admit_by_first_frame(
        &self,
        socket: &mut WebSocket,
    ) -> Result<Admission, Option<CloseReason>> {
        let request = tokio::select! {
            biased;
            () = self.shutdown.requested() => return Err(Some(CloseReason::shutdown())),
            first = timeout(self.state.limits.header_timeout(), first_frame(socket)) => {
                first.map_err(|_| Some(CloseReason::unauthorized("no token was received in time")))??
            }
        };
        let failed_attempts = &self.state.failed_attempts;
        let admitting = async {
            failed_attempts.check(self.address).map_err(|(problem, _)| problem)?;
            let identity = self.state.authenticator.verify(&request.token).await?;
            self.state.rates.check_person(identity.person())?;
            self.admit(&identity.at(self.target.origin.clone())).await
        };
        match timeout(self.state.limits.request_timeout(), admitting).await {
            Ok(Ok(admission)) => Ok(admission),
            Ok(Err(problem)) => {
                if !problem.is_of_known_caller() {
                    failed_attempts.count_response(problem.kind().status, self.address);
                }
                problem.log();
                Err(Some(CloseReason::from_problem(&problem)))
            }
            Err(_) => Err(Some(CloseReason::store_timeout())),
        }
    }
}

/// Receives the first frame, which must authorize the client.
async fn first_frame(socket: &mut WebSocket) -> Result<AuthorizeRequest, Option<CloseReason>> {
    loop {
        match socket.recv().await {
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(Message::Text(text))) => {
                let reason = || Some(CloseReason::unauthorized("the first frame must authorize"));
                return AuthorizeRequest::read(&text).ok_or_else(reason);
            }
            Some(Ok(Message::Binary(_))) => return Err(Some(CloseReason::binary_frame())),
            Some(Err(error)) => return Err(CloseReason::from_receive_error(&error)),
            Some(Ok(Message::Close(_))) | None => return Err(None),
        }
    }
}
