//! From the model to tokens.
//!
//! What is generated only names things; what they do is in the library. Every path is absolute. Users see two types;
//! other items are called `__rpc_..`. Bindings have spans that users' code cannot see, and begin with `__` all the same,
//! for a pattern would still take a constant of the user's for itself.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt as _;

use crate::model::{Method, Service, cfgs};
use crate::{parse, validate};

mod client;
mod server;
mod trait_def;

/// The whole macro: parse, validate, expand.
///
/// The trait is there even if something is wrong with it, so that its users do not complain too.
pub(crate) fn service(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Vec::new();
    let Some(service) = parse::service(args, item.clone(), &mut errors) else {
        let errors = errors.iter().map(syn::Error::to_compile_error);
        return quote!(#item #(#errors)*);
    };
    validate::service(&service, &mut errors);
    let definition = trait_def::expand(&service);
    if errors.is_empty() {
        let halves = halves(&service);
        quote!(#definition #halves)
    } else {
        let errors = errors.iter().map(syn::Error::to_compile_error);
        quote!(#definition #(#errors)*)
    }
}

/// The stub, the dispatcher and what they share.
fn halves(service: &Service) -> TokenStream {
    let cfgs: Vec<_> = cfgs(&service.item.attrs).collect();
    let (stub, dispatcher) = (client::definition(service), server::definition(service));
    let descriptor = descriptor(service);
    let (client, server) = (client::implementation(service), server::implementation(service));
    quote! {
        #(#cfgs)*
        #stub
        #(#cfgs)*
        #dispatcher
        #(#cfgs)*
        #[allow(
            deprecated,
            dead_code,
            non_camel_case_types,
            non_upper_case_globals,
            unreachable_pub,
            reason = "what is generated is named after the methods, and is to warn of nothing"
        )]
        const _: () = {
            #descriptor
            #client
            #server
        };
    }
}

/// The list of methods, and for each its types and its place in the list.
fn descriptor(service: &Service) -> TokenStream {
    let generated = service.generated();
    let (name, declared) = (&service.name, service.item.ident.unraw().to_string());
    let entries = service.methods.iter().map(|it| entry(it, &generated));
    let signatures = service.methods.iter().map(|it| signature(it, &generated));
    quote! {
        const __RPC_METHODS: &'static [#generated::Method] = &[#(#entries),*];
        static __RPC_SERVICE: #generated::ServiceDescriptor =
            #generated::ServiceDescriptor::new(#name, __RPC_METHODS).declared_as(#declared);
        #generated::inventory::submit! { #generated::Linked(&__RPC_SERVICE) }
        #(#signatures)*
    }
}

fn entry(method: &Method, generated: &TokenStream) -> TokenStream {
    let (cfgs, handle, name) = (method.cfgs(), method.handle(), method.name());
    let idempotent = method.idempotent.then(|| quote!(.idempotent()));
    let hash = method.hash.map(|position| quote!(.hash(#position)));
    quote! {
        #(#cfgs)*
        #generated::Method::new::<#handle>(#name) #idempotent #hash
    }
}

/// Types are judged here and nowhere else, so that the compiler says it once, on the arguments or on the result.
fn signature(method: &Method, generated: &TokenStream) -> TokenStream {
    let cfgs: Vec<_> = method.cfgs().collect();
    let (handle, name, outcome) = (method.handle(), method.name(), method.output());
    let list = method.item.sig.paren_token.span.join();
    let arguments = nested(method.arguments.iter().map(|it| &it.ty), list);
    quote! {
        #(#cfgs)*
        const #handle: #generated::core::primitive::usize =
            #generated::ordinal(__RPC_METHODS, #name);
        #(#cfgs)*
        enum #handle {}
        #(#cfgs)*
        impl #generated::Signature for #handle {
            type Arguments = #arguments;
            type Outcome = #outcome;
            const DEFAULT: #generated::core::option::Option<fn() -> Self::Outcome> = {
                #[allow(unused_imports, reason = "only a result without a default needs it")]
                use #generated::NoDefault as _;
                #generated::DefaultOf::<#outcome>::DEFAULT
            };
        }
    }
}

/// `(a, (b, ()))`, since tuples of any length have no common trait.
fn nested<T: ToTokens>(items: impl DoubleEndedIterator<Item = T>, span: Span) -> TokenStream {
    items.rfold(quote_spanned!(span=> ()), |rest, item| quote_spanned!(span=> (#item, #rest)))
}
