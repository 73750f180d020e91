//! A mistake in what is asked for is found when a client is built or a server started.

use std::time::Duration;

use super::probe::Counting;
use super::script::{Script, State};
use crate::{Client, ServerBuilder};

async fn refusal(server: ServerBuilder) -> String {
    server.listen("127.0.0.1:0").start().await.unwrap_err().to_string()
}

const EVERY_INTERFACE: &str =
    "which nobody can connect to; name the address that others reach this machine at, as in `10.0.0.7:9000`";

#[tokio::test]
async fn an_address_that_nobody_can_connect_to_is_not_advertised() {
    let server = || Counting::default().server().registry("script:nobody registers here");
    for (address, why) in [
        ("greeter", "which is no host:port; write it as `greeter-1.internal:9000`"),
        (":80", "which is no host:port; write it as `greeter-1.internal:9000`"),
        ("greeter:http", "which is no host:port; write it as `greeter-1.internal:9000`"),
        ("a\nready id=b address=c:1", "which is no host:port; write it as `greeter-1.internal:9000`"),
        ("greeter:0", "which nobody can connect to; name the real port"),
        ("0.0.0.0:80", EVERY_INTERFACE),
        ("[::]:80", EVERY_INTERFACE),
        ("[::ffff:0.0.0.0]:80", EVERY_INTERFACE),
    ] {
        let refusal = refusal(server().advertise(address)).await;
        assert_eq!(refusal, format!("`advertise` is `{address}`, {why}"));
    }
    let refusal = refusal(Counting::default().server().advertise("greeter:80")).await;
    assert_eq!(
        refusal,
        "`advertise` is `greeter:80`, but no registry is named; name one with `ServerBuilder::registry`"
    );
}

#[tokio::test]
async fn an_id_that_cannot_be_told_or_printed_is_refused() {
    for (id, why) in [
        (String::new(), "has 0 bytes; give it 1 to 65,535"),
        ("x".repeat(65_536), "has 65536 bytes; give it 1 to 65,535"),
        ("a\nready id=b".to_owned(), r#""a\nready id=b" has control characters; leave them out"#),
        ("\u{9b}1m".to_owned(), r#""\u{9b}1m" has control characters; leave them out"#),
    ] {
        assert_eq!(refusal(Counting::default().server().id(id)).await, format!("the instance id {why}"));
    }
}

#[tokio::test]
async fn what_is_no_address_is_not_listened_on() {
    for address in ["9000", "greeter", ":9000", "0.0.0.0:http", "0.0.0.0:65536", ""] {
        let refusal = Counting::default().server().listen(address).start().await.unwrap_err().to_string();
        assert_eq!(refusal, format!("`listen` is `{address}`, which is no host:port; write it as `0.0.0.0:9000`"));
    }
}

#[test]
fn a_time_of_zero_is_refused() {
    Script::new("zero", State::default());
    let client = || Client::builder().registry("script:zero");
    for (client, what) in [
        (client().timeout(Duration::ZERO), "timeoutMs"),
        (client().connect_timeout(Duration::ZERO), "connectTimeoutMs"),
        (client().refresh(Duration::ZERO), "refreshMs"),
    ] {
        let error = client.build().unwrap_err();
        assert_eq!(error.to_string(), format!("`client.{what}` is 0; give it 1 or more, or leave it to its default"));
    }
}

#[test]
fn debug_tells_a_mistake_with_all_its_sources() {
    let error = Client::builder().registry("fixed").build().unwrap_err();
    let told = format!("{error:?}");
    assert!(told.starts_with("`registry`: `fixed` is not a url"), "{told}");
}
