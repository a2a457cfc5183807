/// The value that the given percentage of the sorted values stays below.
pub(crate) fn of_sorted<T: Copy + Default>(sorted: &[T], percent: usize) -> T {
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or_default()
}
