/// Returns whether a provider fetches what is at a URL, for the validators.
///
/// The scheme is one of the given ones, and the path does not name an SVG drawing, which no provider
/// reads. The renderer has a rule of its own: a mistake in it would pass its own check.
pub(super) fn is_fetched(url: &str, schemes: &[&str]) -> bool {
    let lower = url.to_lowercase();
    let path = lower.split(['?', '#']).next().unwrap_or_default();
    let is_known = |scheme: &&str| path.starts_with(&format!("{scheme}://"));
    let drawings = [".svg", ".svgz"];
    schemes.iter().any(is_known) && !drawings.iter().any(|ending| path.ends_with(*ending))
}
