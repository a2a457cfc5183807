use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context as _;
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

/// A file that is being written beside the one that it replaces.
#[derive(Debug)]
pub(super) struct NewFile(BufWriter<Encoder>);

/// What the bytes of a file go through.
#[derive(Debug)]
enum Encoder {
    Plain(NamedTempFile),
    Gzip(Box<GzEncoder<NamedTempFile>>),
}

impl NewFile {
    /// Begins a file in a directory.
    pub(super) fn create(directory: &Path) -> io::Result<Self> {
        Ok(Self(BufWriter::new(Encoder::Plain(NamedTempFile::new_in(directory)?))))
    }

    /// Begins a compressed file in a directory. It has the same bytes for the same text: no name, and no time.
    pub(super) fn create_compressed(directory: &Path) -> io::Result<Self> {
        let file = NamedTempFile::new_in(directory)?;
        let encoder = GzEncoder::new(file, Compression::default());
        Ok(Self(BufWriter::new(Encoder::Gzip(Box::new(encoder)))))
    }

    /// Puts the file in the place of another one: a reader sees the old file or the new one, both whole.
    pub(super) fn replace(self, path: &Path) -> anyhow::Result<()> {
        let file = match self.0.into_inner()? {
            Encoder::Plain(file) => file,
            Encoder::Gzip(encoder) => encoder.finish()?,
        };
        file.as_file().sync_all()?;
        file.persist(path).with_context(|| path.display().to_string())?;
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Write for Encoder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Gzip(encoder) => encoder.flush(),
        }
    }
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| path.display().to_string())
        }
        _ => Ok(()),
    }
}
