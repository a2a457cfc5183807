//! The use of a mongod by processes that did not start it.

use std::path::Path;

use crate::Error;

/// While this value is held, a mongod is not stopped. The kernel ends the use with the process.
#[derive(Debug)]
pub(crate) struct Use {
    #[cfg(unix)]
    _pipe: std::os::fd::OwnedFd,
}

impl Use {
    /// Uses the mongod in a directory; `None` if none runs, or it is being stopped.
    #[cfg(unix)]
    pub(crate) fn of(dbpath: &Path) -> Result<Option<Self>, Error> {
        use rustix::fs::{Mode, OFlags, open};
        use rustix::io::Errno;

        let path = dbpath.join("users");
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match open(&path, flags, Mode::empty()) {
            Ok(pipe) => Ok(Some(Self { _pipe: pipe })),
            // Without a supervisor, there is no reading end.
            Err(Errno::NXIO | Errno::NOENT) => Ok(None),
            Err(error) => Err(Error::file("open", &path)(error.into())),
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn of(_: &Path) -> Result<Option<Self>, Error> {
        Ok(Some(Self {}))
    }
}
