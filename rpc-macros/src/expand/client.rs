//! The consumer's half: a type that implements the trait by calling.

use proc_macro2::{Span, TokenStream};
use quote::quote;

use super::{nested, trait_def};
use crate::model::{Method, Service};

/// The stub's type.
pub(super) fn definition(service: &Service) -> TokenStream {
    let generated = service.generated();
    let (vis, ident, stub) = (&service.item.vis, &service.item.ident, service.stub());
    let docs = format!(" Calls `{ident}` on a provider: the consumer's half of the service.");
    quote! {
        #[doc = #docs]
        #[derive(#generated::core::clone::Clone, #generated::core::fmt::Debug)]
        #[allow(
            dead_code,
            non_camel_case_types,
            unreachable_pub,
            reason = "it is named and seen as its trait is, and one half may go unused"
        )]
        #vis struct #stub {
            channel: #generated::Channel,
        }
    }
}

/// What the stub can do.
pub(super) fn implementation(service: &Service) -> TokenStream {
    let generated = service.generated();
    let (vis, ident, stub) = (&service.item.vis, &service.item.ident, service.stub());
    let krate = &service.krate;
    let methods = service.methods.iter().map(|it| call(it, &generated));
    quote! {
        impl #generated::Stub for #stub {
            const SERVICE: &'static #generated::ServiceDescriptor = &__RPC_SERVICE;

            fn from_channel(__channel: #generated::Channel) -> Self {
                Self { channel: __channel }
            }
        }

        impl #stub {
            /// Returns a stub whose calls have these options.
            #[must_use]
            #vis fn with(&self, options: #krate::CallOptions) -> Self {
                Self { channel: self.channel.with(options) }
            }
        }

        impl #ident for #stub {
            #(#methods)*
        }
    }
}

fn call(method: &Method, generated: &TokenStream) -> TokenStream {
    let (cfgs, ident, handle) = (method.cfgs(), method.ident(), method.handle());
    let parameters = method.arguments.iter().map(|it| {
        let (ident, ty) = (&it.ident, &it.ty);
        quote!(#ident: #ty)
    });
    let values = nested(method.arguments.iter().map(|it| &it.ident), Span::call_site());
    let promise = trait_def::promise(method, generated);
    quote! {
        #(#cfgs)*
        fn #ident(&self, #(#parameters),*) #promise {
            self.channel.call::<#handle>(#handle, #values)
        }
    }
}
