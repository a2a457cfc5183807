//! Where the lines of imports come from.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use flate2::read::MultiGzDecoder;
use indicatif::ProgressBar;
use transfer::lines::{Line, Lines};

use super::report::Report;
use super::sink::Stop;

/// What a report says of the last line of a file that is still written.
pub(crate) const CUT_OFF: &str = "is cut off: it is imported once the file has all of it";
/// The bytes that are read at a time.
const BUFFER_BYTES: usize = 1 << 18;

/// The text of a file.
pub(crate) type Text<'a> = Box<dyn BufRead + Send + 'a>;

/// Opens a file; one whose name ends in `.gz` is decompressed. The bar advances by the bytes of the file.
///
/// A compressed file that is damaged is an error of the kind [`InvalidData`](ErrorKind::InvalidData).
pub(crate) fn open(path: &Path, bar: &ProgressBar) -> io::Result<Text<'static>> {
    let is_compressed = path.extension().is_some_and(|extension| extension == "gz");
    if is_compressed {
        check(path)?;
    }
    let file = bar.wrap_read(File::open(path)?);
    Ok(if is_compressed { buffered(MultiGzDecoder::new(file)) } else { buffered(file) })
}

/// Opens a file whose lines are read one after the other: the bar is as long as the file.
pub(crate) fn open_alone(path: &Path, bar: &ProgressBar) -> anyhow::Result<Text<'static>> {
    let named = || path.display().to_string();
    bar.set_length(fs::metadata(path).with_context(named)?.len());
    open(path, bar).with_context(named)
}

/// Checks that a compressed file is not damaged: what it then holds may still read like messages. One that is cut off passes: its
/// text is right as far as it goes.
fn check(path: &Path) -> io::Result<()> {
    match io::copy(&mut MultiGzDecoder::new(File::open(path)?), &mut io::sink()) {
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            let text = format!("the compressed file is damaged: {error}");
            Err(io::Error::new(ErrorKind::InvalidData, text))
        }
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(()),
    }
}

fn buffered(text: impl Read + Send + 'static) -> Text<'static> {
    Box::new(BufReader::with_capacity(BUFFER_BYTES, text))
}

/// Reads the next line of a file. If a compressed file is cut off, that is reported, and its lines end there.
pub(crate) fn next_line<'l>(
    lines: &'l mut Lines<Text<'_>>,
    place: &str,
    report: &mut Report,
) -> anyhow::Result<Option<Line<'l>>> {
    let number = lines.number();
    match lines.next_line() {
        Ok(line) => Ok(line),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            let what = "the compressed file is cut off: the lines up to there are imported";
            report.refuse(&format!("{place}:{}", number + 1), what)?;
            Ok(None)
        }
        Err(error) => Err(error).context("cannot be read"),
    }
}

/// Lines of a session.
#[derive(Debug)]
pub(crate) enum Source {
    /// The lines of a file.
    File(PathBuf),
    /// The items of a list in a file, each written as a line.
    List {
        /// The name of the file.
        file: String,
        /// The field with the list.
        field: &'static str,
        /// The items.
        lines: String,
    },
}

impl Source {
    /// Opens it; the bar advances by what is read of a file.
    pub(crate) fn open(&self, bar: &ProgressBar) -> Result<Lines<Text<'_>>, Stop> {
        let text = match self {
            Self::File(path) => open(path, bar),
            Self::List { lines, .. } => Ok(Box::new(lines.as_bytes()) as Text<'_>),
        };
        match text {
            Ok(text) => Ok(Lines::new(text)),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                Err(Stop::Chat(error.to_string()))
            }
            Err(error) => Err(anyhow::Error::new(error).context("cannot be opened").into()),
        }
    }

    /// Returns the name of the file.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => name_of(path),
            Self::List { file, .. } => file.clone(),
        }
    }

    /// Returns how a report calls the line with this number within its file.
    pub(crate) fn item(&self, number: u64) -> String {
        match self {
            Self::File(_) => format!("line {number}"),
            Self::List { field, .. } => format!("{field}[{}]", number.saturating_sub(1)),
        }
    }

    /// Returns where the line with this number stands.
    pub(crate) fn at(&self, number: u64) -> String {
        match self {
            Self::File(path) => format!("{}:{number}", name_of(path)),
            Self::List { file, .. } => format!("{file}: {}", self.item(number)),
        }
    }
}

/// Returns the name of a file, without its directory.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
