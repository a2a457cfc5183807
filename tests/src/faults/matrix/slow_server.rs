use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use mongodb::bson::doc;
use tokio::time::sleep;

use crate::faults::checker::{Finding, Kind};
use crate::faults::cluster::{Cluster, FailPoint, Host, SERVICE};
use crate::faults::fault::{Evidence, Fault, Scene, is_request};
use crate::faults::history::{Operation, Record};

/// Every command is delayed before it is executed.
pub(super) struct SlowServer;

const SLOW: &str = "server slow";
/// The accepted memory growth while the service waits: some megabytes for running requests.
const MEMORY_KB: u64 = 100_000;
/// Commands that one request may cause: reads, the write, and the same again if the deadline allows it.
const COMMANDS_PER_REQUEST: u64 = 6;

#[async_trait(?Send)]
impl Fault for SlowServer {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let before = memory_kb(&cluster.hosts()[0])?;
        for block_ms in [scene.rng.i32(500..1_000), scene.rng.i32(2_000..3_500)] {
            let t0 = scene.now();
            let data = doc! {
                "failCommands": ["findAndModify", "find", "insert", "update"],
                "appName": SERVICE, "blockConnection": true, "blockTimeMS": block_ms,
            };
            let primary = cluster.primary().await?;
            let point = FailPoint::set(primary, "failCommand", "alwaysOn", data).await?;
            let slow = scene.lasting(4, 10);
            sleep(slow).await;
            let fired = point.off().await?;
            scene.struck(SLOW, (t0, scene.now()), fired)?;
        }
        let grown = memory_kb(&cluster.hosts()[0])?.saturating_sub(before);
        if grown > MEMORY_KB {
            let detail = format!("the service grew by {grown} KB while the server was slow");
            scene.findings.push(Finding::of(Kind::Fault, detail));
        }
        Ok(())
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for record in &evidence.history.records {
            let Operation::Nemesis(nemesis) = &record.operation else { continue };
            let (from, to) = (record.t0, record.t1);
            let under_way = |it: &&Record| is_request(it) && it.t0 <= to && it.t1 >= from;
            let requests = evidence.history.records.iter().filter(under_way).count() as u64;
            if nemesis.fired > COMMANDS_PER_REQUEST * requests {
                let commands = nemesis.fired;
                let detail = format!("{requests} requests led to {commands} commands");
                findings.push(Finding::of(Kind::Fault, detail));
            }
        }
        findings
    }
}

/// The memory of a service process; zero on systems without `/proc`.
fn memory_kb(host: &Host) -> Result<u64> {
    if !Path::new("/proc/self/status").exists() {
        return Ok(0);
    }
    let status = fs::read_to_string(format!("/proc/{}/status", host.service()?.pid()?))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kilobytes.context("the memory of the service is not told")?.parse()?)
}
