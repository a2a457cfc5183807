//! Ports that another server uses.

use std::net::TcpListener;
use std::thread;

use anyhow::Result;

/// Occupies a port until the test process ends, and closes every connection.
pub(crate) fn take(port: u16) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    thread::spawn(move || listener.incoming().for_each(drop));
    Ok(())
}
