//! Ports that another server has.

use std::net::TcpListener;
use std::thread;

use anyhow::Result;

/// Takes a port until the test process ends, and hangs up on whoever connects.
pub(crate) fn take(port: u16) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    thread::spawn(move || listener.incoming().for_each(drop));
    Ok(())
}
