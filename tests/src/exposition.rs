//! Parses the response of `GET /metrics`, and rejects everything that is not OpenMetrics text.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};

/// The metrics of a process at one moment.
#[derive(Debug)]
pub struct Exposition {
    /// The kind of each metric, by its name without the suffixes of its series.
    pub kinds: BTreeMap<String, String>,
    /// The value of each series.
    pub values: BTreeMap<Series, f64>,
}

/// A series: the name it has in a query, and its labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    /// The name, with a suffix such as `_total`.
    pub name: String,
    /// The labels, by their keys.
    pub labels: BTreeMap<String, String>,
}

impl Exposition {
    /// Reads it.
    pub fn parse(text: &str) -> Result<Self> {
        let body = text.strip_suffix("# EOF\n").context("the end is missing")?;
        let mut exposition = Self { kinds: BTreeMap::new(), values: BTreeMap::new() };
        let mut current = (String::new(), String::new());
        for line in body.lines() {
            let read = match line.strip_prefix("# ") {
                Some(about) => exposition.describe(about, &mut current),
                None => exposition.add(line, &current),
            };
            read.with_context(|| format!("in the line {line:?}"))?;
        }
        exposition.check_histograms()?;
        Ok(exposition)
    }

    /// Returns the names that queries may use.
    pub fn names(&self) -> BTreeSet<&str> {
        self.values.keys().map(|series| series.name.as_str()).collect()
    }

    /// Returns the sum of the series with that name and at least these labels.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let is_meant = |series: &Series| {
            let has = |(key, value): &(&str, &str)| {
                series.labels.get(*key).is_some_and(|found| found == value)
            };
            series.name == name && labels.iter().all(has)
        };
        self.values.iter().filter(|(series, _)| is_meant(series)).map(|(_, value)| value).sum()
    }

    fn describe(&mut self, about: &str, current: &mut (String, String)) -> Result<()> {
        let mut words = about.splitn(3, ' ');
        let mut word = || words.next().context("a word is missing");
        let (what, name, rest) = (word()?, word()?, word()?);
        match what {
            "HELP" => ensure!(!rest.is_empty(), "the text is missing"),
            "TYPE" => {
                *current = (name.to_owned(), rest.to_owned());
                let known = self.kinds.insert(name.to_owned(), rest.to_owned());
                ensure!(known.is_none(), "the metric is there twice");
            }
            _ => bail!("{what} is not expected"),
        }
        Ok(())
    }

    fn add(&mut self, line: &str, (metric, kind): &(String, String)) -> Result<()> {
        let (series, value) = line.rsplit_once(' ').context("the value is missing")?;
        let series = Series::parse(series)?;
        let suffix = series.name.strip_prefix(metric).context("it belongs to another metric")?;
        let suffixes: &[&str] = match kind.as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            "histogram" => &["_bucket", "_count", "_sum"],
            "info" => &["_info"],
            _ => bail!("{kind} is no kind of metric"),
        };
        ensure!(suffixes.contains(&suffix), "a {kind} has no {suffix:?}");
        ensure!((suffix == "_bucket") == series.labels.contains_key("le"), "bounds are of buckets");
        let known = self.values.insert(series, value.parse()?);
        ensure!(known.is_none(), "the series is there twice");
        Ok(())
    }

    /// Buckets are cumulative: each counts at least as much as the one before, and the last counts everything.
    fn check_histograms(&self) -> Result<()> {
        let mut buckets: BTreeMap<Series, Vec<(f64, f64)>> = BTreeMap::new();
        for (series, count) in &self.values {
            let mut series = series.clone();
            if let Some(bound) = series.labels.remove("le") {
                series.name = series.name.replace("_bucket", "_count");
                buckets.entry(series).or_default().push((bound.parse()?, *count));
            }
        }
        for (series, mut buckets) in buckets {
            buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
            ensure!(buckets.is_sorted_by_key(|(_, count)| *count), "{series:?} shrinks");
            let last = buckets.last().copied();
            let all = self.values.get(&series).map(|count| (f64::INFINITY, *count));
            ensure!(last == all, "{series:?}: the last bucket has {last:?} of {all:?}");
        }
        Ok(())
    }
}

impl Series {
    fn parse(text: &str) -> Result<Self> {
        let (name, mut rest) = text.split_once('{').unwrap_or((text, "}"));
        ensure!(is_name(name), "{name:?} is no name");
        let mut labels = BTreeMap::new();
        while rest != "}" {
            let (key, after) = rest.split_once("=\"").context("a label has no value")?;
            // No label value here contains a quotation mark.
            let (value, after) = after.split_once('"').context("a value has no end")?;
            ensure!(is_name(key) && !value.contains('\\'), "{key}={value:?} is no label");
            ensure!(labels.insert(key.to_owned(), value.to_owned()).is_none(), "{key} twice");
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        Ok(Self { name: name.to_owned(), labels })
    }
}

fn is_name(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    text.starts_with(is_letter)
        && text.chars().all(|letter| is_letter(letter) || letter.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# HELP a_seconds Text.\n# TYPE a_seconds histogram\n\
        a_seconds_sum{b=\"c\"} 3.5\na_seconds_count{b=\"c\"} 2\n\
        a_seconds_bucket{le=\"1.0\",b=\"c\"} 1\na_seconds_bucket{le=\"+Inf\",b=\"c\"} 2\n\
        # HELP d Text.\n# TYPE d counter\nd_total 7\n# EOF\n";

    #[test]
    fn what_is_right_is_read() {
        let exposition = Exposition::parse(GOOD).unwrap();
        assert_eq!(exposition.kinds["a_seconds"], "histogram");
        let count = exposition.sum("a_seconds_count", &[("b", "c")]);
        assert_eq!((count, exposition.sum("d_total", &[])), (2.0, 7.0));
    }

    #[test]
    fn what_is_wrong_is_refused() {
        let wrong = [
            ("# EOF\n", ""),
            ("d_total 7", "d 7"),
            ("d_total 7", "d_total x"),
            ("d_total 7", "d_total 7\nd_total 8"),
            ("d_total 7", "e_total 7"),
            ("TYPE d counter", "TYPE d thing"),
            ("{b=\"c\"} 3.5", "{b=\"c} 3.5"),
            ("{b=\"c\"} 2\n", "{b=\"c\"} 3\n"),
            ("\"1.0\",b=\"c\"} 1", "\"1.0\",b=\"c\"} 5"),
            ("# HELP d Text.", "# HELP d"),
        ];
        for (right, wrong) in wrong {
            let text = GOOD.replacen(right, wrong, 1);
            assert!(text != GOOD && Exposition::parse(&text).is_err(), "{wrong:?}");
        }
    }
}
