/// Returns the value that the given share of the sorted ones does not exceed: one of them, the
/// nearest by rank.
///
/// Without values it is the default.
pub(crate) fn quantile<T: Copy + Default>(sorted: &[T], share: f64) -> T {
    let rank = (sorted.len() as f64 * share).ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to the length")]
    let index = (rank as usize).max(1) - 1;
    sorted.get(index).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_the_value_of_the_nearest_rank() {
        let hundred: Vec<u32> = (1..=100).collect();
        assert_eq!(quantile(&hundred, 0.0), 1);
        assert_eq!(quantile(&hundred, 0.5), 50);
        assert_eq!(quantile(&hundred, 0.99), 99);
        assert_eq!(quantile(&hundred, 1.0), 100);
        assert_eq!(quantile(&[3, 5, 9], 0.5), 5);
        assert_eq!(quantile(&[3, 5, 9], 0.99), 9);
        assert_eq!(quantile(&[7], 0.25), 7);
        assert_eq!(quantile::<u32>(&[], 0.5), 0);
    }
}
