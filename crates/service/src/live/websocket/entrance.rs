use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures::try_join;
use persistence::StoreError;
use records::{ChatId, ChatStatus, Scope, UserId};
use tokio::time::timeout;

use super::close::{Closing, close};
use super::conversation::Conversation;
use super::frame::Meta;
use super::request::AuthorizeRequest;
use super::resume::{Cause, Resume};
use crate::auth::Identity;
use crate::extract::{Place, admitted_to_chat, check_is_own};
use crate::live::{Announced, Ends, Position, Shutdown, Subscription};
use crate::problem::Problem;
use crate::state::AppState;

/// The protocol spoken, as it stands in `Sec-WebSocket-Protocol`.
const PROTOCOL: &str = "reprise.v1";

/// The largest message, and the largest frame, that a client may send, in bytes.
const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// What is read from a socket at a time, in bytes; allocated for each.
const READ_BUFFER_BYTES: usize = 4 << 10;

/// The most bytes that wait to be sent: one frame at a time does, and none is larger.
const MAX_WRITE_BUFFER_BYTES: usize = 64 << 20;

/// Where somebody comes in.
#[derive(Debug)]
pub(crate) struct Entrance {
    pub(crate) place: Place,
    /// What they hold, where they say so.
    pub(crate) after: Option<Position>,
    pub(crate) shutdown: Shutdown,
    pub(crate) state: AppState,
}

/// Somebody who has been let in.
pub(crate) struct Joined {
    pub(super) scope: Scope,
    pub(super) chat_id: ChatId,
    pub(super) user_id: UserId,
    pub(super) subscription: Subscription,
    /// Says that they are here.
    pub(super) announced: Option<Announced>,
}

/// Somebody who has been let in, what they are told first, and what ends it.
pub(crate) struct Admission {
    joined: Joined,
    meta: Meta,
    resume: Resume,
    ends: Ends,
}

impl Entrance {
    /// Lets a caller in who may see the chat.
    pub(crate) async fn admit(&self, identity: &Identity) -> Result<Admission, Problem> {
        let (place, state) = (&self.place, &self.state);
        let chat_id = &place.chat_id;
        let scope = admitted_to_chat(place.app_id.clone(), chat_id, identity, state).await?;
        let detail = "a user joins as themselves: the path names another";
        check_is_own(&scope.caller, &place.user_id, detail)?;
        let chat = state.store.get_chat(&scope, chat_id);
        let artifact = state.store.get_last_artifact(&scope, chat_id);
        let (chat, artifact) = try_join!(chat, artifact)?;
        let chat = chat.filter(|chat| chat.workflow_name == place.workflow_name);
        let chat = chat.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
        let (cause, at) = match (self.after, chat.status) {
            (Some(after), _) => (Cause::JoinAfter, after),
            (None, ChatStatus::Running | ChatStatus::Paused) => (Cause::Join, Position::BEGINNING),
            (None, _) => (Cause::Join, Position::END),
        };
        let subscription = state.hub.subscribe(&scope, chat_id, at).await?;
        let announced = state.hub.announce(&scope, chat_id);
        let ends = Ends::new(&scope, chat_id, identity.expires_at, self.shutdown.clone(), state);
        let resume = Resume::new(cause, subscription.held());
        let meta = Meta::of(&chat, artifact, &place.user_id);
        let (chat_id, user_id) = (chat_id.clone(), place.user_id.clone());
        Ok(Admission {
            joined: Joined { scope, chat_id, user_id, subscription, announced },
            meta,
            resume,
            ends,
        })
    }

    /// Answers with a socket; who has not been let in yet is to say there who they are.
    pub(crate) fn open(self, upgrade: WebSocketUpgrade, admission: Option<Admission>) -> Response {
        let held = self.shutdown.hold();
        upgrade
            .protocols([PROTOCOL])
            .read_buffer_size(READ_BUFFER_BYTES)
            .write_buffer_size(0)
            .max_write_buffer_size(MAX_WRITE_BUFFER_BYTES)
            .max_message_size(MAX_MESSAGE_BYTES)
            .max_frame_size(MAX_MESSAGE_BYTES)
            .on_upgrade(move |socket| async move {
                self.serve(socket, admission).await;
                drop(held);
            })
    }

    async fn serve(self, mut socket: WebSocket, admission: Option<Admission>) {
        let admission = match admission {
            Some(admission) => Ok(admission),
            None => self.admit_at_first_frame(&mut socket).await,
        };
        match admission {
            Ok(Admission { joined, meta, resume, ends }) => {
                Conversation::new(socket, joined, resume, &self.state).run(meta, ends).await;
            }
            Err(closing) => close(socket, closing).await,
        }
    }

    /// Waits for the first frame, which has the token; nothing is told before.
    async fn admit_at_first_frame(
        &self,
        socket: &mut WebSocket,
    ) -> Result<Admission, Option<Closing>> {
        let request = tokio::select! {
            biased;
            () = self.shutdown.asked() => return Err(Some(Closing::shutdown())),
            first = timeout(self.state.limits.header_timeout(), first_frame(socket)) => {
                first.map_err(|_| Some(Closing::unauthorized("no token came in time")))??
            }
        };
        let admitting = async {
            let identity = self.state.authenticator.verify(&request.token)?;
            self.admit(&identity).await
        };
        match timeout(self.state.limits.request_timeout(), admitting).await {
            Ok(Ok(admission)) => Ok(admission),
            Ok(Err(problem)) => {
                problem.log();
                Err(Some(Closing::refusing(&problem)))
            }
            Err(_) => Err(Some(Closing::late())),
        }
    }
}

/// Receives the first frame, which must authorize.
async fn first_frame(socket: &mut WebSocket) -> Result<AuthorizeRequest, Option<Closing>> {
    loop {
        match socket.recv().await {
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(Ok(Message::Text(text))) => {
                let closing = || Some(Closing::unauthorized("the first frame must authorize"));
                return AuthorizeRequest::read(&text).ok_or_else(closing);
            }
            Some(Ok(Message::Binary(_))) => return Err(Some(Closing::binary())),
            Some(Err(error)) => return Err(Closing::after(&error)),
            Some(Ok(Message::Close(_))) | None => return Err(None),
        }
    }
}
