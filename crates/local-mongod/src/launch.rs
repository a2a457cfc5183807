//! Starts a member on a free port and data directory.

use std::path::Path;
use std::time::Duration;

use mongodb::options::Credential;

use crate::credentials::Credentials;
use crate::data_dir::{DataDir, remembered_port};
use crate::deadline::Deadline;
use crate::member::{Member, Place};
use crate::{Error, Options, port, start_line};

/// The longest wait for a mongod whose parent was killed to exit.
const MAX_EXIT_WAIT: Duration = Duration::from_secs(15);

/// The settings that all members of a set share.
pub(crate) struct Launch<'a> {
    pub(crate) options: &'a Options,
    pub(crate) mongod: &'a Path,
    pub(crate) data_dir: &'a DataDir,
    pub(crate) credentials: Option<&'a Credentials>,
    pub(crate) deadline: Deadline,
}

impl Launch<'_> {
    /// Starts a member and waits until it answers.
    ///
    /// Retries when another process took the port first, and while a mongod whose parent was killed a
    /// moment ago still holds the directory.
    pub(crate) async fn member(&self, index: u8) -> Result<Member, Error> {
        let patience = Deadline::after(MAX_EXIT_WAIT);
        loop {
            let member = self.spawn(index)?;
            let Err(error) = member.until_it_answers(self.deadline).await else {
                return Ok(member);
            };
            member.stop().await;
            if !will_pass(&error) || patience.pause(String::new).await.is_err() {
                return Err(error);
            }
            tracing::debug!(%error, "starting mongod again");
        }
    }

    fn spawn(&self, index: u8) -> Result<Member, Error> {
        let dbpath = self.data_dir.member(index)?;
        let port = self.port(index, &dbpath)?;
        if let Some(credentials) = self.credentials {
            credentials.write_key(&start_line::key_file(&dbpath))?;
        }
        let arguments = start_line::arguments(self.options, &dbpath, port);
        let temporary = self.data_dir.is_temporary();
        let place = Place { dbpath, port, temporary, credential: self.credential() };
        Member::spawn(self.mongod, &arguments, place, self.options.start_timeout)
    }

    fn credential(&self) -> Option<Credential> {
        self.credentials.map(Credentials::of_member)
    }

    /// The requested port, or else the port of the last run, or else any.
    fn port(&self, index: u8, dbpath: &Path) -> Result<u16, Error> {
        let remembered = remembered_port(dbpath);
        if let Some(first) = self.options.port {
            let port = first.saturating_add(index.into());
            // The mongod of the last run may be about to release it.
            let usable = remembered == Some(port) || port::is_free(port);
            return usable.then_some(port).ok_or(Error::PortTaken { port });
        }
        match remembered.filter(|port| port::is_free(*port)) {
            Some(port) => Ok(port),
            None => port::free().map_err(Error::NoPort),
        }
    }
}

fn will_pass(error: &Error) -> bool {
    let passing = ["Address already in use", "DBPathInUse"];
    matches!(error, Error::Exited { log, .. } if passing.iter().any(|sign| log.contains(sign)))
}
