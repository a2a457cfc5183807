//! Commitments, and the hashes that chain them.
//!
//! A chain is cut into blocks of [`BLOCK`] commitments. The root of a block is that of a Merkle tree as RFC 6962 describes it. The
//! chain hashes one root after the other, so that the newest hash stands for all that came before.

use records::json::Salt;
use records::{AppId, ChatId};
use sha2::{Digest as _, Sha256};

use super::{Hash, IntegrityKeys};

/// How many commitments a full block has.
pub(crate) const BLOCK: usize = 256;

/// The salt of a commitment whose text is gone.
const NO_SALT: Salt = [0; 16];

/// The digest of a message as it was at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Commitment {
    /// The message.
    pub(crate) sequence: u64,
    /// How often it had been changed.
    pub(crate) changes: u32,
    salt: Salt,
    hash: Hash,
}

impl Commitment {
    /// The size of a stored commitment, in bytes.
    pub(crate) const BYTES: usize = 8 + 4 + 16 + 32;

    /// Commits to a statement about a message.
    pub(crate) fn new(sequence: u64, changes: u32, salt: Salt, statement: &str) -> Self {
        Self { sequence, changes, salt, hash: salted_hash(&salt, statement) }
    }

    /// Returns whether the statement is the one; `None` if that cannot be told any more.
    pub(crate) fn is_of(&self, statement: &str) -> Option<bool> {
        self.salt().map(|salt| salted_hash(salt, statement) == self.hash)
    }

    /// Returns the salt, or what stands in its place.
    pub(crate) fn salt(&self) -> Option<&Salt> {
        (self.salt != NO_SALT).then_some(&self.salt)
    }

    /// Forgets the salt. Nothing can be guessed from what is left, and the chain stays as it is.
    ///
    /// With a key, a mark takes its place that only a service can make: otherwise everyone with access to the database could
    /// take away what tells the place of a message.
    pub(crate) fn forget(&mut self, keys: Option<&IntegrityKeys>, chat: (&AppId, &ChatId)) {
        self.salt = keys.map_or(NO_SALT, |keys| keys.tag(&self.mark_input(chat)));
    }

    /// Returns whether a service with one of the keys has forgotten the salt.
    pub(crate) fn is_forgotten(&self, keys: &IntegrityKeys, chat: (&AppId, &ChatId)) -> bool {
        keys.is_tag_of(&self.mark_input(chat), &self.salt)
    }

    fn mark_input(&self, (app_id, chat_id): (&AppId, &ChatId)) -> Vec<u8> {
        let mut input = format!("reprise forgotten\n{app_id}\n{chat_id}\n").into_bytes();
        input.extend(self.leaf());
        input
    }

    /// Appends the commitment as it is stored.
    pub(crate) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.sequence.to_be_bytes());
        bytes.extend_from_slice(&self.changes.to_be_bytes());
        bytes.extend_from_slice(&self.salt);
        bytes.extend_from_slice(&self.hash);
    }

    /// Reads stored commitments; `None` if the bytes are no such.
    pub(crate) fn read_all(bytes: &[u8]) -> Option<Vec<Self>> {
        let chunks = bytes.chunks_exact(Self::BYTES);
        if !chunks.remainder().is_empty() {
            return None;
        }
        chunks.map(Self::read).collect()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (sequence, rest) = bytes.split_first_chunk()?;
        let (changes, rest) = rest.split_first_chunk()?;
        let (salt, rest) = rest.split_first_chunk()?;
        let sequence = u64::from_be_bytes(*sequence);
        let changes = u32::from_be_bytes(*changes);
        Some(Self { sequence, changes, salt: *salt, hash: rest.try_into().ok()? })
    }

    /// Returns the hash of the commitment as a leaf.
    fn leaf(&self) -> Hash {
        let (sequence, changes) = (self.sequence.to_be_bytes(), self.changes.to_be_bytes());
        hash(&[&[0], &sequence, &changes, &self.hash])
    }
}

/// Returns commitments as they are stored.
pub(crate) fn stored(commitments: &[Commitment]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(commitments.len() * Commitment::BYTES);
    for commitment in commitments {
        commitment.write(&mut bytes);
    }
    bytes
}

/// A chain. Only its last block, the open one, is in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain {
    /// The hash over all full blocks.
    closed: Hash,
    /// How many full blocks there are.
    blocks: u64,
    open: Vec<Commitment>,
}

impl Chain {
    /// Begins the chain of a chat. No other chat has the same hashes.
    pub(crate) fn begin(app_id: &AppId, chat_id: &ChatId) -> Self {
        let text = format!("reprise chain\n{app_id}\n{chat_id}");
        Self { closed: hash(&[text.as_bytes()]), blocks: 0, open: Vec::new() }
    }

    /// Continues a chain that was interrupted.
    pub(crate) fn resume(closed: Hash, blocks: u64, open: Vec<Commitment>) -> Self {
        Self { closed, blocks, open }
    }

    /// Adds a commitment. Returns the number and the commitments of a block that it has filled.
    pub(crate) fn push(&mut self, commitment: Commitment) -> Option<(u64, Vec<Commitment>)> {
        self.open.push(commitment);
        if self.open.len() < BLOCK {
            return None;
        }
        let (number, full) = (self.blocks, std::mem::take(&mut self.open));
        self.closed = link(&self.closed, &block_root(&full));
        self.blocks += 1;
        Some((number, full))
    }

    /// Returns how many commitments the chain has.
    pub(crate) fn length(&self) -> u64 {
        self.blocks * BLOCK as u64 + self.open.len() as u64
    }

    /// Returns how many full blocks the chain has.
    pub(crate) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Returns the hash over all full blocks.
    pub(crate) fn closed(&self) -> &Hash {
        &self.closed
    }

    /// Returns the commitments of the last block, if it is not full.
    pub(crate) fn open(&self) -> &[Commitment] {
        &self.open
    }

    pub(crate) fn open_mut(&mut self) -> &mut [Commitment] {
        &mut self.open
    }

    /// Returns the hash over everything.
    pub(crate) fn root(&self) -> Hash {
        if self.open.is_empty() { self.closed } else { link(&self.closed, &block_root(&self.open)) }
    }
}

/// What leads from a commitment to the root of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InclusionPath {
    pub(crate) index: u64,
    pub(crate) block_size: u64,
    pub(crate) path: Vec<Hash>,
    pub(crate) before: Hash,
    pub(crate) after: Vec<Hash>,
}

impl InclusionPath {
    /// Makes the path of the commitment at a place of a chain, which is given whole.
    pub(crate) fn of(begin: &Chain, all: &[Commitment], place: usize) -> Option<Self> {
        let number = place / BLOCK;
        let mut blocks = all.chunks(BLOCK);
        let before = blocks
            .by_ref()
            .take(number)
            .fold(begin.closed, |before, block| link(&before, &block_root(block)));
        let block = blocks.next()?;
        let index = place % BLOCK;
        let leaves: Vec<Hash> = block.iter().map(Commitment::leaf).collect();
        (index < leaves.len()).then(|| Self {
            index: index as u64,
            block_size: leaves.len() as u64,
            path: audit_path(&leaves, index),
            before,
            after: blocks.map(block_root).collect(),
        })
    }
}

fn block_root(block: &[Commitment]) -> Hash {
    tree_root(&block.iter().map(Commitment::leaf).collect::<Vec<_>>())
}

/// Returns the hash of a chain that a block has been added to.
fn link(before: &Hash, block: &Hash) -> Hash {
    hash(&[&[2], before, block])
}

/// Returns the root of the tree over at least one leaf.
fn tree_root(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => hash(&[]),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(split(leaves.len()));
            hash(&[&[1], &tree_root(left), &tree_root(right)])
        }
    }
}

/// Returns the hashes beside the way from a leaf to the root, from below.
fn audit_path(leaves: &[Hash], index: usize) -> Vec<Hash> {
    if leaves.len() < 2 {
        return Vec::new();
    }
    let at = split(leaves.len());
    let (left, right) = leaves.split_at(at);
    let (mut path, beside) = if index < at {
        (audit_path(left, index), right)
    } else {
        (audit_path(right, index - at), left)
    };
    path.push(tree_root(beside));
    path
}

/// Returns the greatest power of two below a number that is at least 2.
fn split(leaves: usize) -> usize {
    leaves.next_power_of_two() / 2
}

fn salted_hash(salt: &Salt, statement: &str) -> Hash {
    hash(&[salt, statement.as_bytes()])
}

fn hash(parts: &[&[u8]]) -> Hash {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn commitments(count: usize) -> Vec<Commitment> {
        let make = |sequence: usize| {
            let text = format!("message {sequence}");
            Commitment::new(sequence as u64, 0, [7; 16], &text)
        };
        (0..count).map(make).collect()
    }

    fn chat() -> (AppId, ChatId) {
        (AppId::parse("acme").unwrap(), ChatId::parse("chat_1").unwrap())
    }

    fn begin() -> Chain {
        let (app_id, chat_id) = chat();
        Chain::begin(&app_id, &chat_id)
    }

    fn chain_of(all: &[Commitment]) -> Chain {
        let mut chain = begin();
        for commitment in all {
            chain.push(*commitment);
        }
        chain
    }

    /// Follows a path as its receiver does, with nothing but the words of RFC 9162, section 2.1.3.2.
    fn root_by(path: &InclusionPath, leaf: Hash) -> Option<Hash> {
        let (mut node, mut last, mut root) = (path.index, path.block_size - 1, leaf);
        for beside in &path.path {
            if last == 0 {
                return None;
            }
            if node & 1 == 1 || node == last {
                root = hash(&[&[1], beside, &root]);
                while node & 1 == 0 && node != 0 {
                    (node, last) = (node >> 1, last >> 1);
                }
            } else {
                root = hash(&[&[1], &root, beside]);
            }
            (node, last) = (node >> 1, last >> 1);
        }
        let root = link(&path.before, &root);
        (last == 0).then(|| path.after.iter().fold(root, |before, block| link(&before, block)))
    }

    #[test]
    fn a_chain_that_is_resumed_has_the_same_root() {
        let all = commitments(600);
        for at in [0, 1, 255, 256, 257, 512, 599] {
            let half = chain_of(&all[..at]);
            let open = half.open().to_vec();
            let mut resumed = Chain::resume(*half.closed(), half.blocks(), open);
            for commitment in &all[at..] {
                resumed.push(*commitment);
            }
            assert_eq!(resumed, chain_of(&all));
        }
    }

    #[test]
    fn stored_commitments_are_read_as_they_were() {
        let all = commitments(3);
        assert_eq!(Commitment::read_all(&stored(&all)), Some(all.clone()));
        assert_eq!(Commitment::read_all(&stored(&all)[1..]), None);
    }

    #[test]
    fn a_forgotten_salt_changes_no_root() {
        let mut all = commitments(5);
        let root = chain_of(&all).root();
        let (app_id, chat_id) = chat();
        all[2].forget(None, (&app_id, &chat_id));
        assert_eq!(chain_of(&all).root(), root);
        assert_eq!(all[2].is_of("message 2"), None);
        assert_eq!(all[3].is_of("message 3"), Some(true));
        assert_eq!(all[3].is_of("message 4"), Some(false));
    }

    proptest! {
        #[test]
        fn every_path_leads_to_the_root(count in 1_usize..700, at in any::<prop::sample::Index>()) {
            let (all, place) = (commitments(count), at.index(count));
            let path = InclusionPath::of(&begin(), &all, place).unwrap();
            prop_assert_eq!(root_by(&path, all[place].leaf()), Some(chain_of(&all).root()));
            let mut other = all[place];
            other.hash[0] ^= 1;
            prop_assert_ne!(root_by(&path, other.leaf()), Some(chain_of(&all).root()));
        }

        #[test]
        fn whatever_is_changed_changes_the_root(count in 1_usize..600, at in any::<prop::sample::Index>(), kind in 0..4) {
            let all = commitments(count);
            let (mut changed, place) = (all.clone(), at.index(count));
            match kind {
                0 => changed[place].hash[31] ^= 1,
                1 => changed[place].changes += 1,
                2 => drop(changed.remove(place)),
                _ => changed.insert(place, Commitment::new(9, 9, [9; 16], "forged")),
            }
            prop_assert_ne!(chain_of(&changed).root(), chain_of(&all).root());
        }
    }
}
