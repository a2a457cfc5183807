//! Mutations of inputs, for runs without coverage.

use fastrand::Rng;

/// Texts that parsers treat in a special way.
const TEXTS: [&[u8]; 16] = [
    b"{}",
    b"[]",
    b"null",
    b"\"\"",
    b"\"",
    b"\\",
    b"\n",
    b"-1",
    b"9223372036854775808",
    b"1e400",
    b"\\ud83d",
    b"\0",
    b"\xff",
    b"%00",
    b"$",
    b"\xe2\x80\x8d",
];

/// Changes an input in one to four places: bits, bytes, repetitions, special texts, or a part of another input.
#[must_use]
pub fn mutated(input: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..rng.usize(1..=4) {
        let at = rng.usize(0..=bytes.len());
        let end = (at + rng.usize(0..16)).min(bytes.len());
        match rng.u8(0..6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.u8(0..8),
            1 if at < bytes.len() => bytes[at] = rng.u8(..),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let repeated = bytes[at..end].repeat(rng.usize(1..4));
                bytes.splice(at..at, repeated);
            }
            4 => drop(bytes.splice(at..at, TEXTS[rng.usize(..TEXTS.len())].iter().copied())),
            _ => {
                let from = rng.usize(0..=other.len());
                let to = (from + rng.usize(0..64)).min(other.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
        }
    }
    bytes
}
