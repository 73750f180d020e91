//! The macro of the rpc framework: makes a service of a trait.
//!
//! ```text
//!                      parse            validate           expand
//! #[rpc_service] trait ----->  Service  ------->  Service  -----> trait + stub + dispatcher
//!                              Method..           + errors
//! ```
//!
//! What is generated only names things: encoding, calling and dispatching are functions of the framework. A mistake in
//! them is mended without compiling services again.

use proc_macro::TokenStream;

mod args;
mod expand;
mod model;
mod parse;
mod validate;

/// Makes a service of a trait: a stub that calls it, and a dispatcher that serves an implementation of it.
///
/// # Examples
///
/// ```
/// use rpc::{RpcError, rpc_service};
///
/// /// Keeps users.
/// #[rpc_service]
/// pub trait UserService {
///     /// The name of a user.
///     #[rpc(idempotent)]
///     async fn name_of(&self, #[rpc(hash)] id: u64) -> Result<String, RpcError>;
///
///     /// Stores a user.
///     async fn put(&self, id: u64, name: String) -> Result<(), RpcError>;
/// }
///
/// // The provider implements the trait and serves it with the dispatcher.
/// struct Users;
///
/// impl UserService for Users {
///     async fn name_of(&self, id: u64) -> Result<String, RpcError> {
///         Ok(format!("user {id}"))
///     }
///
///     async fn put(&self, _id: u64, _name: String) -> Result<(), RpcError> {
///         Ok(())
///     }
/// }
///
/// let dispatcher = UserServiceDispatcher::new(Users);
///
/// // The consumer calls the stub, which implements the same trait.
/// async fn greet(users: &UserServiceStub) -> Result<String, RpcError> {
///     let name = users.name_of(7).await?;
///     Ok(format!("Hello, {name}"))
/// }
/// ```
///
/// # What it generates
///
/// For a trait `Foo`, with its visibility:
///
/// - **`Foo`** itself. It becomes `Foo: Send + Sync + 'static`, and each `async fn m(..) -> R` becomes
///   `fn m(..) -> impl Future<Output = R> + Send`, so that calls can be spawned. Implement it with `async fn` all the
///   same. Other attributes stay where they are: documentation, `#[cfg]`, `#[deprecated]`, `#[must_use]`, `#[allow]`.
/// - **`FooStub`**, which is `Clone`, `Debug` and `Foo`. The client makes it: `client.stub::<FooStub>()`. Its `with`
///   returns a stub whose calls have other options. A call ends by the client's timeout, 3 s unless told otherwise; one
///   whose future is dropped is cancelled, here and on the server.
/// - **`FooDispatcher<T>`**, made of a `T: Foo` by `new`. The server takes it: `Server::builder().service(..)`.
///
/// A method under a `#[cfg]` that does not hold is absent from all three, and from the list that both sides compare
/// when they connect.
///
/// # Options
///
/// | where | option | meaning | default |
/// |---|---|---|---|
/// | `#[rpc_service(..)]` | `name = "user.UserService"` | the service's name in the registry and on the wire | the trait's name |
/// | `#[rpc_service(..)]` | `crate = path` | where the framework is found, if it is renamed or re-exported | `::rpc` |
/// | a method | `#[rpc(idempotent)]` | the method may be run twice: `failOver` and `failBack` then repeat a call that may have run | not so |
/// | an argument | `#[rpc(hash)]` | load balancers that hash choose the instance by this argument | all arguments together |
///
/// Names on the wire are written without `r#`. Methods that differ only in case are different methods.
///
/// # Arguments and results
///
/// Arguments, results and errors are owned types that implement `Serialize`, `DeserializeOwned` and `Send`. Their number
/// is not limited. A method returns a `Result<T, E>`, also under another name, since a remote call can fail; `E` implements
/// `From<RpcError>`, by which it learns of that. `RpcError` itself is the simple choice.
///
/// # Errors
///
/// All mistakes of a trait are reported together, each on the token that is wrong. The trait itself is still there, so
/// that implementations of it do not fail as well. Refused are
///
/// - on the trait: generic parameters, where clauses, super-traits, associated types and constants, `unsafe`, `auto`, a
///   trait without methods, and any item that is no trait;
/// - on a method: no `async`, `unsafe`, `extern`, `const`, generic parameters, where clauses, variadics, default bodies, any
///   receiver but `&self`, no result;
/// - on arguments and results: patterns (`(a, b)`, `_`, `mut a`, `ref a`), references, lifetimes, `impl Trait`, `Self`, and
///   `#[cfg]` on a single argument;
/// - `with`, `clone`, `to_owned`, `into` and `try_into` as names of methods, for `stub.into()` would mean the standard
///   library's `into`;
/// - options that are unknown, given twice or in the wrong place, and `cfg` or `rpc` inside a `cfg_attr`.
///
/// Whether a type can be sent, and whether a result is a `Result`, is for the compiler to say; it does so on the list of
/// arguments or on the result.
#[proc_macro_attribute]
pub fn rpc_service(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::service(args.into(), item.into()).into()
}
