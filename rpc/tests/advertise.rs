//! What is registered is an address that others can reach.

#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use rpc::registry::Discovery;
use rpc::{RpcError, Server, StartError, extension, rpc_service};

#[rpc_service(name = "test.Place")]
trait Place {
    async fn stay(&self) -> Result<(), RpcError>;
}

struct Here;

impl Place for Here {
    async fn stay(&self) -> Result<(), RpcError> {
        Ok(())
    }
}

/// Starts a server that registers; gives the port it listens on, and the id and address that are found then.
async fn registered(
    registry: &str,
    listen: &str,
    advertise: Option<&str>,
) -> Result<(u16, String, String), StartError> {
    let (key, settings) = rpc::Settings::from_url(registry).unwrap();
    let discovery = extension::build::<dyn Discovery>(key, &settings).unwrap();
    let mut server = Server::builder().service(PlaceDispatcher::new(Here)).listen(listen).registry(registry);
    if let Some(address) = advertise {
        server = server.advertise(address);
    }
    let server = server.start().await?;
    let found = discovery.lookup("test.Place").await.unwrap().instances.remove(0);
    Ok((server.address().port(), found.id, found.address))
}

#[tokio::test]
async fn an_address_that_is_named_is_registered_as_it_is() {
    for (registry, listen) in [("memory:named-any", "0.0.0.0:0"), ("memory:named-one", "127.0.0.1:0")] {
        let (_, id, address) = registered(registry, listen, Some("place.internal:80")).await.unwrap();
        assert_eq!((id.as_str(), address.as_str()), ("place.internal:80", "place.internal:80"));
    }
}

#[tokio::test]
async fn one_interface_is_registered_with_its_real_port() {
    let (port, id, address) = registered("memory:one", "127.0.0.1:0", None).await.unwrap();
    assert_ne!(port, 0);
    assert_eq!(address, format!("127.0.0.1:{port}"));
    assert_eq!(id, address);
}

/// Whether there is an address depends on the machine; that none is made up does not.
#[tokio::test]
async fn every_interface_is_registered_as_an_address_of_the_machine_or_advertise_is_asked_for() {
    for (registry, listen) in [("memory:any", "0.0.0.0:0"), ("memory:any6", "[::]:0")] {
        match registered(registry, listen, None).await {
            Ok((port, _, address)) => {
                println!("{listen}: {address}");
                let address: std::net::SocketAddr = address.parse().unwrap();
                assert_eq!(address.port(), port);
                assert!(!address.ip().is_unspecified() && !address.ip().is_loopback(), "{address}");
            }
            Err(error @ StartError::Advertise(_)) => {
                println!("{listen}: {error}");
                assert!(error.to_string().contains("`ServerBuilder::advertise`"));
            }
            // No IPv6 here.
            Err(StartError::Listen { .. }) => assert_eq!(listen, "[::]:0"),
            Err(error) => panic!("{listen}: {error}"),
        }
    }
}
