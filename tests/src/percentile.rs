/// The value that so many per cent of the sorted ones stay below.
pub(crate) fn of_sorted<T: Copy + Default>(sorted: &[T], percent: usize) -> T {
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or_default()
}
