use serde::Serialize;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// The environment of the measurements.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Machine {
    pub(crate) mongod: String,
    pub(crate) driver: &'static str,
    pub(crate) profile: &'static str,
    pub(crate) os: String,
    pub(crate) cpu: String,
    pub(crate) cpus: usize,
    pub(crate) memory_gib: u64,
    /// The load average of the last minute.
    pub(crate) load: f64,
}

/// Every package of this build with its version.
const LOCK: &str = include_str!("../../../../Cargo.lock");

impl Machine {
    /// Reads the machine and the build; the server reports its own version.
    pub(crate) fn observe(mongod: String) -> Self {
        let system = System::new_with_specifics(
            RefreshKind::nothing()
                .with_cpu(CpuRefreshKind::nothing())
                .with_memory(MemoryRefreshKind::nothing().with_ram()),
        );
        let cpu = system.cpus().first().map_or("unknown", |cpu| cpu.brand().trim());
        Self {
            mongod,
            driver: locked_version("mongodb"),
            profile: if cfg!(debug_assertions) { "debug" } else { "release" },
            os: System::long_os_version().unwrap_or_else(|| std::env::consts::OS.to_owned()),
            cpu: cpu.to_owned(),
            cpus: system.cpus().len(),
            memory_gib: system.total_memory() >> 30,
            load: System::load_average().one,
        }
    }
}

fn locked_version(package: &str) -> &'static str {
    let entry = format!("name = \"{package}\"\nversion = \"");
    let version = LOCK.split_once(&entry).and_then(|(_, rest)| rest.split('"').next());
    version.unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_the_driver_is_the_one_this_is_built_with() {
        assert!(locked_version("mongodb").starts_with("3."), "{}", locked_version("mongodb"));
        assert_eq!(locked_version("no such package"), "unknown");
    }
}
