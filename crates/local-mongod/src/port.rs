//! Free ports on the loopback interface.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// Asks the operating system for a free port.
pub(crate) fn free() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Returns whether a server could be bound to this port now.
pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
