use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use super::Cost;
use super::cost::percentile;
use crate::database::Largest;

/// The results for the chats.
#[derive(Debug)]
pub struct Report {
    /// Many small messages.
    pub long: Cost,
    /// Large messages.
    pub large: Cost,
    /// Small messages beside a large context snapshot and a large artifact.
    pub laden: Cost,
    /// The largest document of each collection.
    pub largest: BTreeMap<String, Largest>,
}

/// The largest accepted document, unless a single item in it is larger.
const BOUND: u64 = 1_000_000;
/// The accepted size of a document beside that single item.
const FRAME: u64 = 4_096;

impl Report {
    /// The documents that are too large, by collection.
    pub fn too_large(&self) -> impl Iterator<Item = &str> {
        let beyond = |it: &Largest| it.bytes > BOUND.max(it.largest_part + FRAME);
        self.largest.iter().filter(move |(_, it)| beyond(it)).map(|(name, _)| name.as_str())
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        growth(f, &self.long)?;
        growth(f, &self.large)?;
        burden(f, &self.laden, &self.long)?;
        writeln!(f, "\nlargest document")?;
        for (collection, it) in &self.largest {
            let (bytes, part) = (it.bytes, it.largest_part);
            writeln!(f, "  {collection:<16}{bytes:>10} bytes, {part:>10} of them in one thing")?;
        }
        writeln!(f, "\nevery message is there once, in order, as it was appended")?;
        let too_large: Vec<_> = self.too_large().collect();
        if too_large.is_empty() {
            return writeln!(f, "no document is larger than 1 MB, unless a single thing in it is");
        }
        writeln!(f, "DOCUMENTS ARE TOO LARGE in {}", too_large.join(", "))
    }
}

/// Compares the end of a chat with its beginning.
fn growth(f: &mut Formatter<'_>, cost: &Cost) -> fmt::Result {
    let (appends, bytes) = (cost.appends(), cost.message_bytes());
    let megabytes = appends * bytes / 1_000_000;
    let seconds = cost.total().as_secs_f64();
    writeln!(f, "\n{appends} messages of {bytes} bytes, {megabytes} MB, in {seconds:.0} s")?;
    compare(f, ["first 5 %", "last 5 %"], cost.beginning(), cost.end())
}

/// Compares a chat with a large snapshot and artifact with one without, both at their beginning.
fn burden(f: &mut Formatter<'_>, laden: &Cost, free: &Cost) -> fmt::Result {
    let appends = laden.appends();
    writeln!(f, "\n{appends} messages beside a context snapshot and an artifact of 1 MiB each")?;
    compare(f, ["without", "with"], free.beginning(), laden.all())
}

fn compare(
    f: &mut Formatter<'_>,
    names: [&str; 2],
    one: &[Duration],
    other: &[Duration],
) -> fmt::Result {
    let [name, other_name] = names;
    writeln!(f, "  append  {name:>12}{other_name:>12}{:>8}", "ratio")?;
    for (word, percent) in [("median", 50), ("p99", 99)] {
        let (one, other) = (milliseconds(one, percent), milliseconds(other, percent));
        let ratio = other / one;
        writeln!(f, "  {word:<8}{one:>9.2} ms{other:>9.2} ms{ratio:>8.2}")?;
    }
    Ok(())
}

fn milliseconds(latencies: &[Duration], percent: usize) -> f64 {
    percentile(latencies, percent).as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(bytes: u64, largest_part: u64) -> Report {
        let largest = [("chat_segments".to_owned(), Largest { bytes, largest_part })].into();
        let none = || Cost::of(0);
        Report { long: none(), large: none(), laden: none(), largest }
    }

    #[test]
    fn a_document_may_only_be_large_for_a_single_thing_in_it() {
        assert_eq!(report(BOUND, 1_000).too_large().count(), 0);
        assert_eq!(report(3_000_000, 2_999_900).too_large().count(), 0);
        assert!(report(BOUND + 1, 1_000).too_large().eq(["chat_segments"]));
        assert!(report(3_000_000, 1_500_000).too_large().eq(["chat_segments"]));
    }
}
