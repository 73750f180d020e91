//! What the macro knows of a service: the trait and one list of its methods.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt as _;
use syn::{Attribute, Ident, ItemTrait, Path, ReturnType, TraitItemFn, Type, parse_quote};

/// An annotated trait.
pub(crate) struct Service {
    /// The trait as written, but for its methods.
    pub(crate) item: ItemTrait,
    /// The name on the wire.
    pub(crate) name: String,
    /// The path of the framework.
    pub(crate) krate: Path,
    /// The methods, in the order of the source.
    pub(crate) methods: Vec<Method>,
}

impl Service {
    /// The path of what generated code may name.
    pub(crate) fn generated(&self) -> TokenStream {
        let krate = &self.krate;
        quote!(#krate::generated)
    }

    /// The name of the consumer's half.
    pub(crate) fn stub(&self) -> Ident {
        format_ident!("{}Stub", self.item.ident)
    }

    /// The name of the provider's half.
    pub(crate) fn dispatcher(&self) -> Ident {
        format_ident!("{}Dispatcher", self.item.ident)
    }
}

/// One method of the trait.
pub(crate) struct Method {
    /// The method as written, but for the attributes that are ours.
    pub(crate) item: TraitItemFn,
    /// What follows the receiver.
    pub(crate) arguments: Vec<Argument>,
    /// Whether it may be run twice.
    pub(crate) idempotent: bool,
    /// The position of the argument that is the hash key.
    pub(crate) hash: Option<usize>,
}

impl Method {
    /// The method's name in the source.
    pub(crate) fn ident(&self) -> &Ident {
        &self.item.sig.ident
    }

    /// The method's name on the wire.
    pub(crate) fn name(&self) -> String {
        self.ident().unraw().to_string()
    }

    /// What stands for the method in generated code: a constant, its place in the list, and a type, its signature.
    ///
    /// Named after the method, not after its position: attributes may remove it, and then another of the same name may
    /// take its place.
    pub(crate) fn handle(&self) -> Ident {
        format_ident!("__rpc_{}", self.ident(), span = Span::call_site())
    }

    /// The conditions under which the method exists.
    pub(crate) fn cfgs(&self) -> impl Iterator<Item = &Attribute> {
        cfgs(&self.item.attrs)
    }

    /// The declared result.
    pub(crate) fn output(&self) -> Type {
        match &self.item.sig.output {
            ReturnType::Default => parse_quote!(()),
            ReturnType::Type(_, ty) => (**ty).clone(),
        }
    }
}

/// One argument of a method.
pub(crate) struct Argument {
    /// Its name as written, but invisible to other code.
    pub(crate) ident: Ident,
    /// Its type.
    pub(crate) ty: Type,
}

/// The conditions among `attributes`.
pub(crate) fn cfgs(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|it| it.path().is_ident("cfg"))
}
