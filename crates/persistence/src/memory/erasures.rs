use std::collections::HashMap;

use async_trait::async_trait;
use records::{
    Actor, AppId, AuditAction, ChatId, ChatSession, Closed, ErasedKind, Erasure, Invalid,
    MessageBody, Pseudonym, TurnId, UserId,
};
use serde_json::Value;

use super::{Chat, Kept, MemoryStore, held};
use crate::StoreError;
use crate::metrics::{Call, RetentionAction};
use crate::rules::audit::Audited;
use crate::rules::erasure::{ERASED_NAME, Extent, Person, ended};
use crate::rules::stored_digest::{ERASED, StoredDigest};
use crate::store::{Erasures, Inherited, PersonChat, PersonChats, SearchPosition};

#[async_trait]
impl Erasures for MemoryStore {
    async fn begin_erasure(
        &self,
        actor: &Actor,
        app_id: &AppId,
        user_id: &UserId,
    ) -> Result<Erasure, StoreError> {
        self.observe(Call::BeginErasure, || {
            let now = self.clock.now();
            let action = AuditAction::EraseUser;
            let audited = Audited::of_operator(actor, Some(app_id), None, action).about(user_id);
            self.add_audit_entry(&audited, now)?;
            let pseudonym = self.pseudonym(Some(app_id), user_id)?;
            let mut erasures = held(&self.erasures);
            let known =
                erasures.iter().find(|it| it.app_id == *app_id && it.pseudonym == pseudonym);
            if let Some(known) = known {
                return Ok(known.clone());
            }
            let erasure = Erasure::begin(app_id.clone(), user_id.clone(), pseudonym, now);
            erasures.push(erasure.clone());
            Ok(erasure)
        })
        .await
    }

    async fn continue_erasure(
        &self,
        app_id: &AppId,
        pseudonym: Pseudonym,
        _limit: usize,
    ) -> Result<Option<Erasure>, StoreError> {
        self.observe(Call::ContinueErasure, || {
            let mut erasures = held(&self.erasures);
            let mut these = erasures.iter_mut();
            let this = these.find(|it| it.app_id == *app_id && it.pseudonym == pseudonym);
            let Some(erasure) = this else { return Ok(None) };
            if let Some(user_id) = erasure.user_id.clone() {
                let person = Person::new(user_id.clone(), pseudonym, self.clock.now())?;
                self.erase_in_chats(erasure, &person);
                self.erase_usage(erasure, &person);
                self.erase_of_user(erasure, &person)?;
                held(&self.pseudonym_keys).remove(&(Some(app_id.clone()), user_id));
                *erasure = ended(erasure, self.clock.now());
                self.metrics.retention.did(RetentionAction::EraseUser, 1);
            }
            Ok(Some(erasure.clone()))
        })
        .await
    }

    async fn get_erasure(
        &self,
        app_id: &AppId,
        pseudonym: Pseudonym,
    ) -> Result<Option<Erasure>, StoreError> {
        self.observe(Call::GetErasure, || {
            let erasures = held(&self.erasures);
            let mut these = erasures.iter();
            Ok(these.find(|it| it.app_id == *app_id && it.pseudonym == pseudonym).cloned())
        })
        .await
    }

    async fn unfinished_erasures(&self, limit: usize) -> Result<Vec<Erasure>, StoreError> {
        self.observe(Call::UnfinishedErasures, || {
            let erasures = held(&self.erasures);
            let unfinished = erasures.iter().filter(|it| it.finished_at.is_none());
            Ok(unfinished.take(limit).cloned().collect())
        })
        .await
    }

    async fn find_chats_of(
        &self,
        app_id: &AppId,
        user_id: &UserId,
        after: Option<&SearchPosition>,
        limit: usize,
    ) -> Result<PersonChats, StoreError> {
        self.observe(Call::FindChatsOf, || {
            let all = self.chats();
            let of_app = |(_, chat): &(&ChatId, &Chat)| chat.session.app_id == *app_id;
            let mut chats: Vec<_> = all.iter().filter(of_app).collect();
            chats.retain(|(id, _)| after.is_none_or(|after| **id > after.chat_id));
            chats.sort_by_key(|(id, _)| *id);
            chats.truncate(limit);
            let found = chats.iter().filter_map(|(id, chat)| {
                let inherited = inherited_from(&all, user_id, chat);
                let is_found = !inherited.is_empty() || chat.concerns(user_id);
                is_found.then(|| PersonChat { chat_id: (*id).clone(), inherited })
            });
            Ok(PersonChats {
                found: found.collect(),
                searched: chats.len() as u64,
                last: chats.last().map(|(id, chat)| SearchPosition {
                    workflow_name: chat.session.workflow_name.clone(),
                    created_at: chat.session.created_at,
                    chat_id: (*id).clone(),
                }),
            })
        })
        .await
    }
}

impl MemoryStore {
    fn erase_in_chats(&self, erasure: &mut Erasure, person: &Person) {
        let mut chats = self.chats();
        let of_app = |(_, chat): &(&ChatId, &Chat)| chat.session.app_id == erasure.app_id;
        let mut ids: Vec<ChatId> = chats.iter().filter(of_app).map(|(id, _)| id.clone()).collect();
        ids.sort();
        for chat_id in ids {
            erasure.searched += 1;
            let Some(chat) = chats.get(&chat_id).filter(|chat| chat.concerns(&person.user_id))
            else {
                continue;
            };
            let is_theirs = chat.session.user_id.as_ref() == Some(&person.user_id);
            if is_left(&chats, &chat_id) {
                erasure.leave(&chat_id);
                continue;
            }
            let inherited = inherited(&chats, &chat_id);
            let own = chats.get_mut(&chat_id).into_iter();
            if is_theirs {
                own.for_each(|chat| self.purge(chat, person.now));
                erasure.add(ErasedKind::Chats, 1);
                for (fork, own) in inherited {
                    let Some(fork) = chats.get_mut(&fork) else { continue };
                    erasure.add(ErasedKind::Messages, fork.wipe(person, &own));
                    fork.forget_inherited_state();
                    self.notify_change(fork);
                }
            } else {
                own.for_each(|chat| {
                    chat.erase(person, erasure);
                    self.notify_change(chat);
                });
            }
        }
    }

    /// Counts the calls of the person's purged chats for the pseudonym.
    fn erase_usage(&self, erasure: &mut Erasure, person: &Person) {
        for chat in self.chats().values_mut() {
            let is_theirs = chat.session.app_id == erasure.app_id
                && chat.session.user_id.as_ref() != Some(&person.user_id)
                && chat.counted_user.as_ref() == Some(&person.user_id);
            if is_theirs {
                chat.counted_user = Some(person.alias.clone());
                erasure.add(ErasedKind::Usages, 1);
            }
        }
    }

    fn anonymise_wallet(&self, erasure: &mut Erasure, person: &Person) -> Result<(), Invalid> {
        let app_id = erasure.app_id.clone();
        let mut ledgers = held(&self.ledgers);
        let theirs = (app_id.clone(), person.user_id.clone());
        let Some(ledger) = ledgers.remove(&theirs) else { return Ok(()) };
        let mut number = 1;
        let alias = loop {
            let alias = person.wallet_alias(number)?;
            if !ledgers.contains_key(&(app_id.clone(), alias.clone())) {
                break alias;
            }
            number += 1;
        };
        let (ledger, entries) = ledger.anonymised(alias.clone());
        erasure.add(ErasedKind::WalletEntries, entries);
        erasure.add(ErasedKind::Wallets, 1);
        ledgers.insert((app_id, alias), ledger);
        Ok(())
    }

    fn erase_of_user(&self, erasure: &mut Erasure, person: &Person) -> Result<(), Invalid> {
        self.anonymise_wallet(erasure, person)?;
        let assistants = self.delete_assistants_of(&erasure.app_id, &person.user_id);
        erasure.add(ErasedKind::Assistants, assistants);
        let (documents, left) = self.delete_documents_of(&erasure.app_id, &person.user_id);
        for chat_id in &left {
            erasure.leave(chat_id);
        }
        erasure.add(ErasedKind::Documents, documents);
        let mut keys = held(&self.access_keys);
        let before = keys.len();
        keys.retain(|_, key| {
            key.apps.as_deref() != Some(std::slice::from_ref(&erasure.app_id))
                || key.bearer.person() != Some(&person.user_id)
        });
        erasure.add(ErasedKind::AccessKeys, (before - keys.len()) as u64);
        let mut tickets = held(&self.tickets);
        let before = tickets.len();
        tickets.retain(|_, unused| !unused.admits(&erasure.app_id, &person.user_id));
        erasure.add(ErasedKind::Tickets, (before - tickets.len()) as u64);
        Ok(())
    }
}

/// Returns whether an erasure leaves a chat as it is: it is under hold, or a fork under hold shows it.
pub(super) fn is_left(chats: &HashMap<ChatId, Chat>, chat_id: &ChatId) -> bool {
    let is_held = |id: &ChatId| chats.get(id).is_some_and(|chat| chat.session.hold.is_some());
    is_held(chat_id) || inherited(chats, chat_id).iter().any(|(fork, _)| is_held(fork))
}

/// Returns the forks of a chat and of its forks, with what each has taken over from the chat.
fn inherited(chats: &HashMap<ChatId, Chat>, chat_id: &ChatId) -> Vec<(ChatId, Extent)> {
    let Some(ChatSession { forked_from, created_at, .. }) =
        chats.get(chat_id).map(|chat| &chat.session)
    else {
        return Vec::new();
    };
    let start = forked_from.as_ref().map_or(0, |origin| origin.sequence);
    let mut found = vec![(chat_id.clone(), u64::MAX, None)];
    let mut next = 0;
    while let Some((of, end, forked_at)) = found.get(next).cloned() {
        next += 1;
        for (fork, Chat { session, .. }) in chats {
            let origin = session.forked_from.as_ref().filter(|origin| origin.chat_id == of);
            if let Some(origin) = origin {
                let forked_at = forked_at.or(Some(session.created_at));
                found.push((fork.clone(), end.min(origin.sequence), forked_at));
            }
        }
    }
    let forks = found.into_iter().filter_map(|(fork, end, forked_at)| {
        Some((fork, Extent::Own { span: start..end, edited: *created_at..=forked_at? }))
    });
    forks.collect()
}

/// Returns which messages a fork has taken over from chats of a person.
fn inherited_from(chats: &HashMap<ChatId, Chat>, user_id: &UserId, fork: &Chat) -> Vec<Inherited> {
    let (mut inherited, mut end) = (Vec::new(), u64::MAX);
    let mut origin = fork.session.forked_from.as_ref();
    while let Some(from) = origin {
        end = end.min(from.sequence);
        let Some(source) = chats.get(&from.chat_id) else { break };
        origin = source.session.forked_from.as_ref();
        let start = origin.map_or(0, |origin| origin.sequence);
        if source.session.user_id.as_ref() == Some(user_id) && start < end {
            inherited.push(Inherited { source: from.chat_id.clone(), span: start..end });
        }
    }
    inherited.reverse();
    inherited
}

impl Chat {
    /// Returns whether anything of a person is in the chat.
    fn concerns(&self, person: &UserId) -> bool {
        let is_theirs = |user_id: &UserId| user_id == person;
        self.session.user_id.as_ref().is_some_and(is_theirs)
            || self.session.updated_by.as_ref().is_some_and(is_theirs)
            || self.members.iter().any(|member| is_theirs(&member.user_id))
            || self.participants.iter().any(|it| is_theirs(&it.user_id))
            || self.announced.values().any(|it| is_theirs(&it.user_id))
            || self.inputs.iter().any(|input| input.request.is_answered_by(person))
            || self.messages.iter().any(|kept| kept.message.names(person))
    }

    /// Erases a person from a chat of others.
    fn erase(&mut self, person: &Person, erasure: &mut Erasure) {
        let is_theirs = |user_id: &UserId| *user_id == person.user_id;
        let messages = self.wipe(person, &Extent::Written);
        erasure.add(ErasedKind::Messages, messages);
        let mut answered = Vec::new();
        for input in &mut self.inputs {
            if input.request.is_answered_by(&person.user_id)
                && let Some(closing) = &mut input.request.closing
                && let Closed::Answered(answer) = &mut closing.how
            {
                answer.content = Value::Null;
                ERASED_NAME.clone_into(&mut answer.name);
                answer.author.iter_mut().for_each(|author| {
                    author.user_id = person.alias.clone();
                    author.display_name = None;
                });
                input.answer_digest = Some(ERASED);
                answered.push(input.request.request_id.clone());
                erasure.add(ErasedKind::Answers, 1);
            }
        }
        for request_id in answered {
            self.note_input(request_id, self.session.last_updated_at);
        }
        for participant in self.participants.iter_mut().filter(|it| is_theirs(&it.user_id)) {
            participant.user_id = person.alias.clone();
            participant.display_name = None;
            erasure.add(ErasedKind::Participants, 1);
        }
        let before = self.members.len();
        self.members.retain(|member| !is_theirs(&member.user_id));
        erasure.add(ErasedKind::Members, (before - self.members.len()) as u64);
        let before = self.announced.len();
        self.announced.retain(|_, announced| !is_theirs(&announced.user_id));
        erasure.add(ErasedKind::Connections, (before - self.announced.len()) as u64);
        if self.session.updated_by.as_ref().is_some_and(is_theirs) {
            self.session.updated_by = Some(person.alias.clone());
        }
    }

    /// Wipes messages; returns how many there were to wipe.
    fn wipe(&mut self, person: &Person, extent: &Extent) -> u64 {
        let mut wiped = 0;
        let mut before = Vec::new();
        let mut last = None;
        for kept in &mut self.messages {
            let body = kept.message.body.clone();
            if kept.wipe(person, extent) {
                wiped += 1;
                self.revision += 1;
                self.recent_edits.push(kept.message.sequence);
                if body != kept.message.body {
                    before.push(body);
                    last = Some(&kept.message);
                }
            }
        }
        let repeats = |field: &str, text: &str| {
            before.iter().any(|body| body.extra_text(field) == Some(text))
        };
        for (request_id, digest) in &mut self.turn_digests {
            if repeats(MessageBody::REQUEST_ID, request_id.as_str()) {
                *digest = ERASED;
            }
        }
        let is_theirs = |turn: &TurnId| repeats(MessageBody::REQUEST_ID, turn.as_str());
        // The input of a step may repeat any message before it.
        if !before.is_empty() {
            self.points.clear();
        }
        let ChatSession {
            last_speaker,
            last_sequence,
            last_connector,
            last_mode,
            last_turn,
            forked_from,
            ..
        } = &mut self.session;
        let is_last = last_turn.as_ref().is_some_and(|turn| is_theirs(&turn.request_id));
        // It is never that of a message which a fork has taken over.
        let inherited = forked_from.as_ref().map_or(0, |origin| origin.sequence);
        if let Some(last) = last
            && last.sequence >= inherited
            && last.sequence + 1 == *last_sequence
        {
            *last_speaker = Some(last.body.speaker().to_owned());
        }
        last_connector.take_if(|text| is_last || repeats(MessageBody::CONNECTOR, text));
        last_mode.take_if(|text| is_last || repeats(MessageBody::MODE, text));
        wiped
    }

    /// Forgets the context snapshots, the system prompt and the unfinished steps of a fork. What was written there since may repeat
    /// what the fork has taken over from its source, which cannot be seen.
    fn forget_inherited_state(&mut self) {
        self.points.clear();
        self.session.system_prompt = None;
        if !self.contexts.is_empty() || !self.context.data.is_empty() {
            self.contexts.clear();
            self.context_version += 1;
            self.context = records::ContextSnapshot::default();
        }
    }
}

impl Kept {
    fn wipe(&mut self, person: &Person, extent: &Extent) -> bool {
        let mut digest = StoredDigest { digest: self.digest, salt: None };
        let is_wiped = person.wipe(&mut self.message, &mut digest, extent);
        self.digest = digest.digest;
        is_wiped
    }
}
