//! Streams in tokio tasks.

use duetime_d3::{Endpoint, Flow, Options, Rate};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn tasks_share_an_endpoint() {
    let options = Options::new(Rate::from_gbps(1));
    let policy = options.config.host.policy;
    let server = Endpoint::bind("127.0.0.1:0", options).unwrap();
    let (listener, address) = (server.listen(64), server.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        for _ in 0..20 {
            let (mut stream, _) = listener.accept_async().await.unwrap();
            tokio::spawn(async move {
                let mut query = Vec::new();
                stream.read_to_end(&mut query).await.unwrap();
                query.reverse();
                stream.write_all(&query).await.unwrap();
                stream.shutdown().await.unwrap();
            });
        }
    });
    let endpoint = Endpoint::bind("127.0.0.1:0", options).unwrap();
    let clients: Vec<_> = (0..20_u8)
        .map(|number| {
            let endpoint = endpoint.clone();
            tokio::spawn(async move {
                let query: Vec<u8> = (0..20_000 * u32::from(number))
                    .map(|i| i.to_be_bytes()[3].wrapping_mul(number))
                    .collect();
                let flow = Flow::new(query.len() as u64, None);
                let stream = endpoint
                    .connect_async(address, flow, &policy)
                    .await
                    .unwrap();
                let (mut reading, mut writing) = tokio::io::split(stream);
                let sent = query.clone();
                let writer = tokio::spawn(async move {
                    writing.write_all(&sent).await.unwrap();
                    writing.shutdown().await.unwrap();
                });
                let mut answer = Vec::new();
                reading.read_to_end(&mut answer).await.unwrap();
                answer.reverse();
                assert!(answer == query, "{number}");
                writer.await.unwrap();
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    serving.await.unwrap();
}
