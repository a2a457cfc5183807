//! The sizes of messages.

use rand::{Rng, RngExt as _};

/// The sizes of message contents in real transcripts: a share of them, and the size in bytes that
/// this share does not exceed.
///
/// Measured on the 3,947 messages with a content in the logs of three systems: group chats of AG2,
/// runs of Magentic-One, and an agent with tools. Half of all messages are short; the few long ones
/// determine the mean.
const QUANTILES: [(f64, f64); 24] = [
    (0.00, 2.0),
    (0.05, 22.0),
    (0.10, 22.0),
    (0.15, 59.0),
    (0.20, 85.0),
    (0.25, 111.0),
    (0.30, 134.0),
    (0.35, 167.0),
    (0.40, 204.0),
    (0.45, 249.0),
    (0.50, 289.0),
    (0.55, 408.0),
    (0.60, 588.0),
    (0.65, 696.0),
    (0.70, 836.0),
    (0.75, 1_018.0),
    (0.80, 1_169.0),
    (0.85, 1_358.0),
    (0.90, 2_302.0),
    (0.95, 4_108.0),
    (0.975, 6_155.0),
    (0.990, 6_155.0),
    (0.999, 15_112.0),
    (1.000, 34_026.0),
];

/// The mean that sizes are scaled to, in bytes.
const MEAN_BYTES: f64 = 1_000.0;

/// Draws the size of a content, in bytes.
pub(super) fn draw(rng: &mut impl Rng) -> usize {
    let bytes = at(rng.random::<f64>()) * MEAN_BYTES / mean();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 37,000")]
    let bytes = bytes.round() as usize;
    bytes
}

/// Returns the measured size at a share, by linear interpolation between the quantiles.
fn at(share: f64) -> f64 {
    let mut lines = lines();
    let line = lines.find(|[_, (end, _)]| share <= *end);
    line.map_or(0.0, |[(start, from), (end, to)]| {
        from + (to - from) * (share - start) / (end - start)
    })
}

fn mean() -> f64 {
    lines().map(|[(start, from), (end, to)]| (end - start) * f64::midpoint(from, to)).sum()
}

fn lines() -> impl Iterator<Item = [(f64, f64); 2]> {
    QUANTILES.windows(2).map(|pair| [pair[0], pair[1]])
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use rand::SeedableRng as _;

    use super::*;

    const DRAWS: usize = 100_000;

    fn sorted_draws() -> Vec<usize> {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut sizes: Vec<_> = (0..DRAWS).map(|_| draw(&mut rng)).collect();
        sizes.sort_unstable();
        sizes
    }

    #[test]
    fn the_mean_is_about_1_kb() {
        let sizes = sorted_draws();
        let mean = sizes.iter().sum::<usize>() as f64 / DRAWS as f64;
        assert!((mean - MEAN_BYTES).abs() < 25.0, "{mean}");
    }

    #[test]
    fn sizes_spread_as_those_of_real_messages_do() {
        let sizes = sorted_draws();
        let scale = MEAN_BYTES / mean();
        for (share, measured) in QUANTILES {
            if !(0.01..0.99).contains(&share) {
                continue;
            }
            let share_below = |bytes: f64| {
                let rank = sizes.partition_point(|size| (*size as f64) < bytes);
                rank as f64 / DRAWS as f64
            };
            let (below, up_to) =
                (share_below(measured * scale - 1.0), share_below(measured * scale + 1.0));
            let is_there = below <= share + 0.005 && share - 0.005 <= up_to;
            assert!(is_there, "{measured} bytes at {share}: {below} to {up_to}");
        }
    }
}
