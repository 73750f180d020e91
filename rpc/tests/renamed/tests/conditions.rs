//! A method that is compiled away is away everywhere.

use framework::RpcError;
use framework::generated::{Dispatch as _, Stub as _};
use renamed::{User, UserService, UserServiceDispatcher, UserServiceStub};

struct Users;

impl UserService for Users {
    async fn get_user(&self, _: u64, _: u8) -> Result<User, RpcError> {
        Ok(User { name: "Ada".into() })
    }

    async fn put_user(&self, _: User) -> Result<(), RpcError> {
        Ok(())
    }

    async fn find_user(&self, name: String) -> Result<User, RpcError> {
        Ok(User { name })
    }

    #[cfg(feature = "extra")]
    async fn extra(&self) -> Result<u8, RpcError> {
        Ok(1)
    }

    #[cfg(feature = "extra")]
    async fn either(&self, _: String) -> Result<(), RpcError> {
        Ok(())
    }

    #[cfg(not(feature = "extra"))]
    async fn either(&self, _: u8) -> Result<(), RpcError> {
        Ok(())
    }
}

#[test]
fn lists_the_methods_that_are_there() {
    let mut expected = vec!["get_user", "put_user", "find_user"];
    if cfg!(feature = "extra") {
        expected.push("extra");
    }
    expected.push("either");

    let service = UserServiceStub::SERVICE;
    let names: Vec<_> = service.methods().iter().map(|it| it.name()).collect();
    assert_eq!(names, expected);
    assert_eq!(service.name(), "strict.UserService");
}

#[test]
fn both_halves_describe_the_same_service() {
    let dispatcher = UserServiceDispatcher::new(Users);

    assert!(std::ptr::eq(dispatcher.service(), UserServiceStub::SERVICE));
}
