//! The trait itself.

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::{FnArg, Pat, Signature, TraitItem, TypeParamBound, parse_quote};

use crate::model::{Method, Service};

/// The trait, with futures that are `Send`.
///
/// Of a trait with mistakes, those parts are left out which the compiler would refuse once more.
pub(crate) fn expand(service: &Service) -> TokenStream {
    let generated = service.generated();
    let mut item = service.item.clone();
    item.modifiers.auto_token = None;
    item.supertraits.extend::<[TypeParamBound; 3]>([
        parse_quote!(#generated::core::marker::Send),
        parse_quote!(#generated::core::marker::Sync),
        parse_quote!('static),
    ]);
    let methods = service.methods.iter().map(|it| member(it, &generated));
    item.items.extend(methods);
    item.into_token_stream()
}

fn member(method: &Method, generated: &TokenStream) -> TraitItem {
    let mut item = method.item.clone();
    tidy(&mut item.sig);
    if item.sig.asyncness.is_some() && item.default.is_none() {
        item.sig.asyncness = None;
        item.sig.output = promise(method, generated);
    }
    TraitItem::Fn(item)
}

/// What a method returns: a future of its result.
pub(super) fn promise(method: &Method, generated: &TokenStream) -> syn::ReturnType {
    let output = method.output();
    parse_quote! {
        -> impl #generated::core::future::Future<Output = #output>
            + #generated::core::marker::Send
    }
}

fn tidy(signature: &mut Signature) {
    signature.constness = None;
    signature.variadic = None;
    for input in &mut signature.inputs {
        match input {
            FnArg::Receiver(receiver) => receiver.mutability = None,
            FnArg::Typed(argument) if !plain(&argument.pat) => *argument.pat = parse_quote!(_),
            FnArg::Typed(_) => {}
        }
    }
}

/// Whether the pattern is a name and nothing else.
fn plain(pattern: &Pat) -> bool {
    matches!(pattern, Pat::Ident(it) if it.by_ref.is_none() && it.mutability.is_none() && it.subpat.is_none())
}
