//! Generated code means the same whatever the user's names mean.

/// Every name that a prelude usually gives, meaning something else.
#[allow(
    dead_code,
    non_camel_case_types,
    non_upper_case_globals,
    reason = "the names only have to be in the way, spelled as in a prelude"
)]
mod hostile {
    use ::rpc::{RpcError, rpc_service};

    pub(super) type Result<T> = ::core::result::Result<T, RpcError>;
    pub(super) struct Option;
    pub(super) struct Vec;
    pub(super) struct Box;
    pub(super) struct Arc;
    pub(super) struct T;
    pub(super) struct Channel;
    pub(super) struct Method;
    pub(super) struct Stub;
    pub(super) struct Request;
    pub(super) struct u8;
    pub(super) struct usize;
    pub(super) struct bool;
    pub(super) struct str;
    pub(super) const Ok: () = ();
    pub(super) const Err: () = ();
    pub(super) const Some: () = ();
    pub(super) const None: () = ();
    pub(super) const request: () = ();
    pub(super) const ordinal: () = ();
    pub(super) const channel: () = ();
    pub(super) const formatter: () = ();
    pub(super) const argument0: () = ();
    pub(super) trait Send {}
    pub(super) trait Sync {}
    pub(super) trait Future {}
    pub(super) trait Clone {}
    pub(super) trait Debug {}
    pub(super) trait Default {}
    pub(super) trait Into {}
    pub(super) trait From {}
    pub(super) trait Fn {}
    pub(super) trait FnOnce {}
    pub(super) trait Sized {}
    pub(super) mod core {}
    pub(super) mod std {}
    pub(super) mod alloc {}
    pub(super) mod rpc {}
    pub(super) mod serde {}

    #[derive(::serde::Serialize, ::serde::Deserialize)]
    pub(super) struct String(pub(super) i64);

    #[rpc_service]
    pub(super) trait Hostile {
        async fn echo(&self, value: String, _unused: i64) -> Result<String>;
    }
}

/// A service inside a function.
#[test]
fn a_service_can_be_local() {
    use rpc::generated::Dispatch as _;

    #[rpc::rpc_service]
    trait Local {
        async fn ping(&self) -> Result<(), rpc::RpcError>;
    }
    struct Pong;
    impl Local for Pong {
        async fn ping(&self) -> Result<(), rpc::RpcError> {
            Ok(())
        }
    }
    fn assert_clone<S: Clone + Local>() {}

    assert_clone::<LocalStub>();
    let _ = LocalDispatcher::new(Pong).service();
}

#[test]
fn a_type_may_be_called_as_a_generic_parameter_usually_is() {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct T(u8);

    #[rpc::rpc_service]
    trait Letters {
        async fn t(&self, t: T) -> Result<T, rpc::RpcError>;
    }
    struct Echo;
    impl Letters for Echo {
        async fn t(&self, t: T) -> Result<T, rpc::RpcError> {
            Ok(t)
        }
    }

    let _ = LettersDispatcher::new(Echo);
}

#[test]
fn the_dispatcher_is_debug_whatever_it_serves() {
    struct Echo;
    impl hostile::Hostile for Echo {
        async fn echo(&self, value: hostile::String, _: i64) -> hostile::Result<hostile::String> {
            Ok(value)
        }
    }

    let dispatcher = hostile::HostileDispatcher::new(Echo);
    assert_eq!(format!("{dispatcher:?}"), "HostileDispatcher { .. }");
}
