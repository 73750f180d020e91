//! The provider's half: from the number of a method to its implementation.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use super::nested;
use crate::model::{Method, Service};

/// The dispatcher's type.
pub(super) fn definition(service: &Service) -> TokenStream {
    let generated = service.generated();
    let (vis, ident, dispatcher) = (&service.item.vis, &service.item.ident, service.dispatcher());
    let docs = format!(" Serves an implementation of `{ident}`: the provider's half of the service.");
    quote! {
        #[doc = #docs]
        #[allow(
            dead_code,
            non_camel_case_types,
            unreachable_pub,
            reason = "it is named and seen as its trait is, and one half may go unused"
        )]
        #vis struct #dispatcher<T> {
            service: #generated::std::sync::Arc<T>,
        }
    }
}

/// What the dispatcher can do.
pub(super) fn implementation(service: &Service) -> TokenStream {
    let generated = service.generated();
    let (vis, ident, dispatcher) = (&service.item.vis, &service.item.ident, service.dispatcher());
    let debug_name = dispatcher.to_string();
    let dispatch = dispatch(service, &generated);
    quote! {
        impl<__Service: #ident> #dispatcher<__Service> {
            /// Serves `service`.
            #[must_use]
            #vis fn new(service: __Service) -> Self {
                Self { service: #generated::std::sync::Arc::new(service) }
            }
        }

        impl<__Service> #generated::core::fmt::Debug for #dispatcher<__Service> {
            fn fmt(
                &self,
                __formatter: &mut #generated::core::fmt::Formatter<'_>,
            ) -> #generated::core::fmt::Result {
                __formatter.debug_struct(#debug_name).finish_non_exhaustive()
            }
        }

        impl<__Service: #ident> #generated::Dispatch for #dispatcher<__Service> {
            fn service(&self) -> &'static #generated::ServiceDescriptor {
                &__RPC_SERVICE
            }

            #dispatch
        }
    }
}

fn dispatch(service: &Service, generated: &TokenStream) -> TokenStream {
    let arms = service.methods.iter().map(|it| arm(&service.item.ident, it, generated));
    quote_spanned! {Span::mixed_site()=>
        fn dispatch(
            &self,
            __ordinal: #generated::core::primitive::usize,
            __request: #generated::Request<'_>,
        ) -> #generated::Handling {
            let __service = #generated::core::clone::Clone::clone(&self.service);
            match __ordinal {
                #(#arms)*
                _ => #generated::no_such_method(__ordinal),
            }
        }
    }
}

fn arm(service: &syn::Ident, method: &Method, generated: &TokenStream) -> TokenStream {
    let (cfgs, ident, handle) = (method.cfgs(), method.ident(), method.handle());
    // On the method's name, where the compiler says it if the handler's future is not `Send`.
    let span = ident.span().resolved_at(Span::mixed_site());
    // Positions, not names: nobody reads them.
    let names: Vec<_> =
        (0..method.arguments.len()).map(|position| format_ident!("__argument{position}", span = span)).collect();
    let values = nested(names.iter(), span);
    quote_spanned! {span=>
        #(#cfgs)*
        // A guard: where the service has a mistake in a type, a pattern would be a second one.
        _ if __ordinal == #handle => #generated::handle::<#handle, _, _>(
            __request,
            move |#values| async move {
                <__Service as #service>::#ident(&*__service, #(#names),*).await
            },
        ),
    }
}
