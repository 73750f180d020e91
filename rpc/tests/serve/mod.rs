//! A server on a port of its own and a stub that calls it.

/// Serves with a dispatcher; gives the server, which must be kept, and a stub.
macro_rules! serve {
    ($dispatcher:expr) => {{
        let server = rpc::Server::builder().service($dispatcher).listen("127.0.0.1:0").start().await.unwrap();
        let client = rpc::Client::builder().registry(format!("direct://{}", server.address())).build().unwrap();
        (server, client.stub().unwrap())
    }};
}
