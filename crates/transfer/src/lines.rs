//! Reads a file line by line, in bounded memory.

use std::io::{self, BufRead};

/// The largest line that is read by default, in bytes: the largest message, with every character as an escape.
pub const MAX_LINE_BYTES: usize = 32 << 20;

/// Returns a text without the mark that some programs write at its beginning, to say that it is UTF-8.
#[must_use]
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// The lines of a file.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    number: u64,
    bytes: u64,
    max_bytes: usize,
    text: Vec<u8>,
}

/// A line of a file.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line<'a> {
    /// The number of the line, from 1.
    pub number: u64,
    /// The text without its line break; `None` if it is larger than a line may be.
    pub text: Option<&'a [u8]>,
    /// Whether the line has a line break. The last line may lack it, if its writer was interrupted.
    pub is_ended: bool,
}

impl Line<'_> {
    /// Returns whether there is nothing in the line.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.text.is_some_and(|text| text.trim_ascii().is_empty())
    }
}

impl<R: BufRead> Lines<R> {
    /// Starts at the beginning of a file.
    pub fn new(reader: R) -> Self {
        Self::bounded(reader, MAX_LINE_BYTES)
    }

    /// Starts at the beginning of a file whose lines may have this size.
    pub fn bounded(reader: R, max_bytes: usize) -> Self {
        Self { reader, number: 0, bytes: 0, max_bytes, text: Vec::new() }
    }

    /// Returns the number of the line that was read last; 0 before the first.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns how many bytes were read so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads the next line; `None` at the end of the file.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.text.clear();
        let (mut is_empty, mut is_ended, mut is_too_large) = (true, false, false);
        while !is_ended {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                break;
            }
            is_empty = false;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let part = &buffer[..end.unwrap_or(buffer.len())];
            is_too_large |= self.text.len() + part.len() > self.max_bytes;
            if !is_too_large {
                self.text.extend_from_slice(part);
            }
            is_ended = end.is_some();
            let used = part.len() + usize::from(is_ended);
            self.bytes += u64::try_from(used).unwrap_or_default();
            self.reader.consume(used);
        }
        if is_empty {
            return Ok(None);
        }
        self.number += 1;
        let text = (!is_too_large).then_some(self.text.as_slice());
        let text = text.map(|text| if self.number == 1 { without_mark(text) } else { text });
        Ok(Some(Line { number: self.number, text, is_ended }))
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn read(text: &[u8], buffer: usize) -> Vec<(u64, Option<usize>, bool)> {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, text));
        let mut read = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            read.push((line.number, line.text.map(<[u8]>::len), line.is_ended));
        }
        assert_eq!(lines.bytes(), text.len() as u64);
        read
    }

    #[test]
    fn lines_are_numbered_and_the_last_one_may_lack_its_end() {
        for buffer in [1, 2, 3, 100] {
            assert_eq!(read(b"", buffer), []);
            let expected = [(1, Some(2), true), (2, Some(0), true), (3, Some(1), false)];
            assert_eq!(read(b"ab\n\nc", buffer), expected);
            assert_eq!(read(b"ab\n", buffer), [(1, Some(2), true)]);
        }
    }

    #[test]
    fn only_the_first_line_may_begin_with_a_mark() {
        let text = "\u{feff}a\n\u{feff}b\n";
        let mut lines = Lines::new(BufReader::new(text.as_bytes()));
        assert_eq!(lines.next_line().unwrap().unwrap().text, Some(&b"a"[..]));
        assert_eq!(lines.next_line().unwrap().unwrap().text, Some("\u{feff}b".as_bytes()));
    }

    #[test]
    fn a_line_that_is_too_large_is_skipped_and_the_next_one_is_read() {
        let mut text = vec![b'a'; MAX_LINE_BYTES + 1];
        text.extend_from_slice(b"\nb\n");
        assert_eq!(read(&text, 1 << 16), [(1, None, true), (2, Some(1), true)]);
    }
}
