use std::fmt;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use ring::hmac;
use ring::signature::{Ed25519KeyPair, KeyPair as _};

/// What only a service with the key can make of a message.
pub(crate) type Tag = [u8; 16];

/// A key is no private Ed25519 key in PKCS#8.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("it is no private Ed25519 key in PKCS#8")]
pub struct UnusableKey;

/// The key that signs checkpoints and tags changes, and those that did before.
#[derive(Clone)]
pub struct IntegrityKeys(Arc<[Key]>);

struct Key {
    pair: Ed25519KeyPair,
    /// Made from the private key, so that one file is enough.
    tags: hmac::Key,
}

impl IntegrityKeys {
    /// Reads the current key and the earlier ones, each in PKCS#8 (DER).
    pub fn new(current: &[u8], earlier: &[Vec<u8>]) -> Result<Self, UnusableKey> {
        let earlier = earlier.iter().map(Vec::as_slice);
        let keys = [current].into_iter().chain(earlier).map(Key::read);
        Ok(Self(keys.collect::<Result<_, _>>()?))
    }

    fn current(&self) -> &Key {
        // `new` takes at least one.
        &self.0[0]
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.current().pair.sign(message).as_ref().to_vec()
    }

    pub(crate) fn is_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        self.0.iter().any(|key| {
            let public = key.pair.public_key().as_ref();
            let public = ring::signature::UnparsedPublicKey::new(&ring::signature::ED25519, public);
            public.verify(message, signature).is_ok()
        })
    }

    /// Returns the tag by which a message is known to be written by a service.
    pub(crate) fn tag(&self, input: &[u8]) -> Tag {
        tag(&self.current().tags, input)
    }

    pub(crate) fn is_tag_of(&self, input: &[u8], found: &Tag) -> bool {
        self.0.iter().any(|key| tag(&key.tags, input) == *found)
    }
}

impl Key {
    fn read(pkcs8: &[u8]) -> Result<Self, UnusableKey> {
        // The usual tools write keys without their public half.
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8).map_err(|_| UnusableKey)?;
        // A signature of Ed25519 depends on nothing but the key and the message. This message is signed nowhere else.
        let secret = digest(&SHA256, pair.sign(b"reprise: the key of tags").as_ref());
        let tags = hmac::Key::new(hmac::HMAC_SHA256, secret.as_ref());
        Ok(Self { pair, tags })
    }
}

fn tag(key: &hmac::Key, input: &[u8]) -> Tag {
    let full = hmac::sign(key, input);
    let mut tag = Tag::default();
    tag.copy_from_slice(&full.as_ref()[..size_of::<Tag>()]);
    tag
}

impl fmt::Debug for IntegrityKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntegrityKeys").field("keys", &self.0.len()).finish_non_exhaustive()
    }
}
