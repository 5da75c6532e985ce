//! Messages in tokio tasks.

use duetime_due::{Message, Options, Rate, Socket};

fn socket() -> Socket {
    Socket::bind("127.0.0.1:0", Options::new(Rate::from_gbps(1))).unwrap()
}

#[tokio::test]
async fn tasks_share_a_socket() {
    let (server, client) = (socket(), socket());
    let (address, back) = (server.local_addr().unwrap(), client.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let mut answering = Vec::new();
        for _ in 0..20 {
            let query = server.receive_async().await.unwrap();
            assert_eq!(query.from, back);
            let server = server.clone();
            answering.push(tokio::spawn(async move {
                let answer = query.answer(query.bytes.repeat(10_000));
                let sending = server.send_async(query.from, answer).await.unwrap();
                sending.wait_async().await.unwrap();
            }));
        }
        for answer in answering {
            answer.await.unwrap();
        }
    });
    for number in 0..20 {
        let query = Message::request([number]).of_query(number.into());
        client.send_async(address, query).await.unwrap();
    }
    let mut queries = Vec::new();
    for _ in 0..20 {
        let answer = client.receive_async().await.unwrap();
        let query = answer.query.unwrap();
        assert_eq!(answer.bytes, [u8::try_from(query).unwrap(); 10_000]);
        queries.push(query);
    }
    queries.sort_unstable();
    assert!(queries.into_iter().eq(0..20));
    serving.await.unwrap();
}
