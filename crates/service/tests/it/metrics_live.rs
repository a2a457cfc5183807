//! The metrics of live subscribers.

use std::sync::Arc;

use persistence::memory::MemoryStore;
use service::{Config, LimitsConfig};
use tokio::io::AsyncWriteExt as _;

use crate::harness::{Client, memory};
use crate::metrics::Exposition;
use crate::serve::{Server, listen, read_to_end, start};
use crate::socket::{JOIN, Socket};

const SUBSCRIBERS: &str = "reprise_live_subscribers";

/// Returns the values of a metric, for streams and sockets.
async fn both(server: &Server, metric: &str) -> [u64; 2] {
    let mut stream = server.connect().await;
    let request = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let exposition = Exposition(read_to_end(&mut stream).await);
    ["sse", "websocket"].map(|transport| {
        exposition.value(&format!("{metric}{{transport=\"{transport}\"}}")).unwrap()
    })
}

#[tokio::test]
async fn subscribers_are_counted_by_transport() {
    let store = memory();
    let client = Client::over(Arc::<MemoryStore>::clone(&store), Config::default());
    let chat = client.create_chat("c1").await;
    let server = start(store, LimitsConfig::default()).await;
    assert_eq!(both(&server, SUBSCRIBERS).await, [0, 0]);
    let stream = listen(&server, &chat).await;
    let mut sockets = [Socket::open(&server, JOIN).await, Socket::open(&server, JOIN).await];
    for socket in &mut sockets {
        socket.until("chat.resume_boundary").await;
    }
    assert_eq!(both(&server, SUBSCRIBERS).await, [1, 2]);
    // Each was sent `caught-up` and `presence`.
    while both(&server, "reprise_live_events_total").await != [2, 4] {
        tokio::task::yield_now().await;
    }
    drop((stream, sockets));
    while both(&server, SUBSCRIBERS).await != [0, 0] {
        tokio::task::yield_now().await;
    }
}
