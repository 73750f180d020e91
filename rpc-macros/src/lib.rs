//! The `#[rpc_service]` macro.

use proc_macro::TokenStream;

mod args;
mod expand;
mod model;
mod parse;
mod validate;

/// Makes a service of a trait.
#[proc_macro_attribute]
pub fn rpc_service(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::service(args.into(), item.into()).into()
}
