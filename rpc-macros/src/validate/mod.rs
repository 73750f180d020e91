//! The checks: what a service cannot be, said on the token that makes it so.

use syn::ext::IdentExt as _;
use syn::visit::Visit as _;
use syn::{
    Error, FnArg, GenericParam, Generics, Ident, Pat, PatType, ReceiverKind, ReturnType, Safety, Signature, TraitItem,
};

use self::types::Types;
use crate::model::{Method, Service, cfgs};

mod types;

/// Methods that every stub has already: its own, and those that all types have of traits in the prelude.
const TAKEN: [(&str, &str); 5] = [
    ("with", "the stub's own `with`"),
    ("clone", "`Clone::clone`"),
    ("to_owned", "`ToOwned::to_owned`"),
    ("into", "`Into::into`"),
    ("try_into", "`TryInto::try_into`"),
];

/// Notes everything that is wrong with `service` in `errors`.
pub(crate) fn service(service: &Service, errors: &mut Vec<Error>) {
    let mut checks = Checks { errors };
    checks.item(service);
    for method in &service.methods {
        checks.method(method);
    }
}

struct Checks<'a> {
    errors: &'a mut Vec<Error>,
}

impl Checks<'_> {
    fn refuse(&mut self, at: impl quote::ToTokens, message: impl std::fmt::Display) {
        self.errors.push(Error::new_spanned(at, message));
    }

    fn item(&mut self, service: &Service) {
        let item = &service.item;
        if let Some(token) = &item.unsafety {
            self.refuse(token, "a service cannot be an unsafe trait");
        }
        if let Some(token) = &item.modifiers.auto_token {
            self.refuse(token, "a service cannot be an auto trait");
        }
        if !item.supertraits.is_empty() {
            self.refuse(
                &item.supertraits,
                "a service cannot have super-traits: its stub could not implement them \
                 (`Send + Sync + 'static` are added for you)",
            );
        }
        self.generics(&item.generics, "a service");
        for member in &item.items {
            self.member(member);
        }
        let auto = item.modifiers.auto_token.is_some();
        if service.methods.is_empty() && item.items.is_empty() && !auto {
            let message = "a service needs at least one method: there is nothing to call";
            self.refuse(&item.ident, message);
        }
    }

    fn member(&mut self, member: &TraitItem) {
        match member {
            TraitItem::Type(it) => {
                self.refuse(&it.ident, "a service cannot have associated types: name the type in the methods")
            }
            TraitItem::Const(it) => {
                self.refuse(&it.ident, "a service cannot have associated constants: make it a method")
            }
            TraitItem::Macro(it) => {
                self.refuse(&it.mac.path, "a service cannot contain macro calls: write its methods out")
            }
            other => self.refuse(other, "a service can only have methods"),
        }
    }

    fn method(&mut self, method: &Method) {
        let Method { item, .. } = method;
        self.modifiers(&item.sig);
        self.name(&item.sig.ident);
        self.generics(&item.sig.generics, "a method");
        self.receiver(&item.sig);
        for input in &item.sig.inputs {
            if let FnArg::Typed(argument) = input {
                self.argument(argument);
            }
        }
        if let Some(variadic) = &item.sig.variadic {
            self.refuse(variadic, "a method cannot be variadic: take a `Vec`");
        }
        self.output(&item.sig);
        if let Some(body) = &item.default {
            self.refuse(body, "a method cannot have a default body: the stub would not run it");
        }
    }

    fn modifiers(&mut self, signature: &Signature) {
        if let Some(token) = &signature.constness {
            self.refuse(token, "a method cannot be const: it runs elsewhere");
        }
        if signature.asyncness.is_none() {
            self.refuse(signature.fn_token, "a method must be async: write `async fn`");
        }
        match &signature.safety {
            Safety::Unsafe(token) => {
                self.refuse(token, "a method cannot be unsafe: nobody can check the caller on the far side")
            }
            Safety::Safe(token) => self.refuse(token, "a method needs no `safe`"),
            Safety::Default => {}
        }
        if let Some(abi) = &signature.abi {
            self.refuse(abi, "a method cannot be extern: it is called over the wire");
        }
    }

    fn name(&mut self, ident: &Ident) {
        let name = ident.unraw();
        if let Some((_, met)) = TAKEN.iter().find(|(taken, _)| name == taken) {
            let message = format!("a method cannot be named `{name}`: it would meet {met}");
            self.refuse(ident, message);
        }
    }

    fn generics(&mut self, generics: &Generics, subject: &str) {
        for parameter in &generics.params {
            match parameter {
                GenericParam::Lifetime(_) => {
                    self.refuse(parameter, format_args!("{subject} cannot have lifetimes: what is sent is owned"))
                }
                _ => {
                    self.refuse(parameter, format_args!("{subject} cannot be generic: both sides must know the types"))
                }
            }
        }
        if let Some(clause) = &generics.where_clause {
            self.refuse(clause, format_args!("{subject} cannot have a where clause: it is not generic"));
        }
    }

    fn receiver(&mut self, signature: &Signature) {
        let Some(receiver) = signature.receiver() else {
            self.refuse(&signature.ident, "a method needs a receiver: write `&self` as its first argument");
            return;
        };
        let reason = match &receiver.kind {
            ReceiverKind::Reference(_, _, Some(_)) => "calls run at the same time; keep what changes behind a lock",
            ReceiverKind::Reference(_, Some(lifetime), _) if lifetime.ident == "static" => {
                "the service outlives the call, but not the program"
            }
            ReceiverKind::Reference(..) => return,
            _ => "the service outlives the call",
        };
        let message = format!("the receiver must be `&self`: {reason}");
        self.refuse(receiver, message);
    }

    fn argument(&mut self, argument: &PatType) {
        match &*argument.pat {
            Pat::Ident(it) if it.mutability.is_some() => {
                self.refuse(&argument.pat, "an argument cannot be `mut` here; write `mut` in the implementation")
            }
            Pat::Ident(it) if it.by_ref.is_none() && it.subpat.is_none() => {}
            pattern => self.refuse(pattern, "an argument needs a plain name; take it apart in the implementation"),
        }
        for attribute in cfgs(&argument.attrs) {
            self.refuse(attribute, "an argument cannot be conditional: put the attribute on the method");
        }
        Types::new("an argument", self.errors).visit_type(&argument.ty);
    }

    fn output(&mut self, signature: &Signature) {
        match &signature.output {
            ReturnType::Default => {
                self.refuse(&signature.ident, "a method must return a `Result`: a remote call can fail")
            }
            ReturnType::Type(_, ty) => Types::new("a result", self.errors).visit_type(ty),
        }
    }
}
