//! The command line of one mongod.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{Options, log};

/// Name of every local replica set.
pub(crate) const SET_NAME: &str = "rs0";

/// Where a member finds the key with which the members of a set recognise each other.
pub(crate) fn key_file(dbpath: &Path) -> PathBuf {
    dbpath.join("key")
}

/// The arguments for a member with its data in `dbpath`.
pub(crate) fn arguments(options: &Options, dbpath: &Path, port: u16) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec![
        "--dbpath".into(),
        dbpath.into(),
        "--logpath".into(),
        log::path(dbpath).into(),
        "--logappend".into(),
    ];
    let values = [
        ("--port", port.to_string()),
        ("--bind_ip", "127.0.0.1".to_owned()),
        ("--replSet", SET_NAME.to_owned()),
        ("--oplogSize", options.oplog_size_mb.to_string()),
        ("--wiredTigerCacheSizeGB", options.cache_size_gb.to_string()),
    ];
    arguments.extend(values.into_iter().flat_map(|(name, value)| [name.into(), value.into()]));
    arguments.extend(["--nounixsocket", "--noscripting"].map(OsString::from));
    if options.credentials_for.is_some() {
        // Makes mongod require credentials of every client.
        arguments.extend(["--keyFile".into(), key_file(dbpath).into()]);
    }
    // mongod refuses a parameter that is set twice.
    let is_given = |parameter: &str| {
        let (name, _) = parameter.split_once('=').unwrap_or((parameter, ""));
        let given = options.extra_arguments.iter().filter_map(|given| given.split_once('='));
        given.into_iter().any(|(given, _)| given == name)
    };
    for parameter in parameters(options).into_iter().filter(|parameter| !is_given(parameter)) {
        arguments.extend(["--setParameter".into(), parameter.into()]);
    }
    arguments.extend(options.extra_arguments.iter().map(OsString::from));
    arguments
}

fn parameters(options: &Options) -> Vec<&'static str> {
    let mut parameters = vec![
        // By default a primary that gets SIGTERM waits 15 seconds before it stops.
        "shutdownTimeoutMillisForSignaledShutdown=100",
        // Limits how long the writes of a killed client's transaction stay locked.
        "transactionLifetimeLimitSeconds=5",
    ];
    if options.test_commands {
        parameters.push("enableTestCommands=1");
        // The files of a dropped database stay open for this time. In five minutes, the default, tests drop
        // more databases than a process may have open files.
        parameters.push("minSnapshotHistoryWindowInSeconds=10");
    }
    if options.credentials_for.is_some() {
        // By default any local account could create the first user.
        parameters.push("enableLocalhostAuthBypass=false");
        parameters.push("authenticationMechanisms=SCRAM-SHA-256");
    }
    if options.data_dir.is_none() {
        parameters.push("diagnosticDataCollectionEnabled=false");
    }
    if options.members > 1 {
        // A secondary drops a sync source that hangs at once, so that a set whose primary was
        // paused acknowledges majority writes again after 2 seconds instead of 12.
        parameters.push("oplogFetcherSteadyStateMaxFetcherRestarts=0");
        parameters.push("oplogNetworkTimeoutBufferSeconds=1");
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_get_test_commands() {
        assert!(!parameters(&Options::from_env()).contains(&"enableTestCommands=1"));
        assert!(parameters(&Options::for_tests()).contains(&"enableTestCommands=1"));
    }

    #[test]
    fn a_parameter_that_is_given_is_not_set_besides() {
        let given = ["--setParameter", "oplogNetworkTimeoutBufferSeconds=5"].map(str::to_owned);
        let options =
            Options { members: 3, extra_arguments: given.to_vec(), ..Options::from_env() };
        let line = arguments(&options, Path::new("/data"), 4711);
        let line = line.join(" ".as_ref()).to_string_lossy().into_owned();
        assert_eq!(line.matches("oplogNetworkTimeoutBufferSeconds").count(), 1, "{line}");
    }

    #[test]
    fn every_member_listens_on_loopback_only() {
        let line = arguments(&Options::from_env(), Path::new("/data"), 4711);
        let line = line.join(" ".as_ref()).to_string_lossy().into_owned();
        assert!(line.contains("--port 4711 --bind_ip 127.0.0.1 --replSet rs0"), "{line}");
    }
}
