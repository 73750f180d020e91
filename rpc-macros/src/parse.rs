//! From tokens to the model.
//!
//! Takes in whatever the grammar admits, so that the checks see all of it; only the options are judged here.

use proc_macro2::{Span, TokenStream};
use quote::format_ident;
use syn::ext::IdentExt as _;
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, FnArg, Ident, Item, Meta, Pat, Token, TraitItem, TraitItemFn, parse_quote};

use crate::args::{Opt, ServiceArgs, options};
use crate::model::{Argument, Method, Service};

/// Reads the annotated item; `None` if it is no trait.
pub(crate) fn service(args: TokenStream, item: TokenStream, errors: &mut Vec<Error>) -> Option<Service> {
    let args = ServiceArgs::parse(args, errors);
    let mut item = match syn::parse2(item) {
        Ok(Item::Trait(item)) => item,
        Ok(other) => {
            errors.push(not_a_trait(&other));
            return None;
        }
        Err(error) => {
            errors.push(error);
            return None;
        }
    };
    for option in rpc_options(&mut item.attrs, errors) {
        let message = "options of a service belong into `#[rpc_service(..)]`";
        errors.push(Error::new_spanned(&option.name, message));
    }
    let mut methods = Vec::new();
    for member in std::mem::take(&mut item.items) {
        match member {
            TraitItem::Fn(function) => {
                let method = method(function, errors);
                match methods.iter().any(|it| same(it, &method)) {
                    // Left out, for the compiler would complain of it as well.
                    true => errors.push(declared_twice(&method)),
                    false => methods.push(method),
                }
            }
            other => item.items.push(other),
        }
    }
    if let Some(name) = &args.name {
        errors.extend(invalid_name(&name.value()).map(|it| Error::new_spanned(name, it)));
    }
    Some(Service {
        name: match args.name {
            Some(name) => name.value(),
            None => item.ident.unraw().to_string(),
        },
        krate: args.krate.unwrap_or_else(|| parse_quote!(::rpc)),
        item,
        methods,
    })
}

fn method(mut item: TraitItemFn, errors: &mut Vec<Error>) -> Method {
    let mut idempotent = false;
    for option in rpc_options(&mut item.attrs, errors) {
        let read = match option.name.to_string().as_str() {
            "idempotent" => option.flag(&mut idempotent),
            "hash" => Err(misplaced(&option, "an argument: `#[rpc(hash)] id: u64`")),
            _ => Err(option.unknown("idempotent")),
        };
        errors.extend(read.err());
    }
    let mut hash = None;
    let mut arguments = Vec::new();
    for input in &mut item.sig.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                for option in rpc_options(&mut receiver.attrs, errors) {
                    errors.push(misplaced(&option, "the method or one of its arguments"));
                }
            }
            FnArg::Typed(argument) => {
                let position = arguments.len();
                for option in rpc_options(&mut argument.attrs, errors) {
                    errors.extend(hash_option(option, position, &mut hash).err());
                }
                arguments.push(Argument { ident: hygienic(&argument.pat, position), ty: (*argument.ty).clone() });
            }
        }
    }
    Method { item, arguments, idempotent, hash }
}

/// Whether both methods are always there and have one name. With conditions, it is for the compiler to judge.
fn same(one: &Method, other: &Method) -> bool {
    one.ident() == other.ident() && one.cfgs().chain(other.cfgs()).next().is_none()
}

fn declared_twice(method: &Method) -> Error {
    let message = format!("a method named `{}` is already there", method.name());
    Error::new_spanned(method.ident(), message)
}

/// Reads the options of the argument at `position`.
fn hash_option(option: Opt, position: usize, hash: &mut Option<usize>) -> Result<(), Error> {
    match option.name.to_string().as_str() {
        "hash" => {
            let name = option.name.clone();
            option.flag(&mut false)?;
            match hash.replace(position) {
                Some(first) if first == position => Err(Error::new_spanned(name, "option `hash` is given twice")),
                Some(_) => Err(Error::new_spanned(
                    name,
                    "only one argument can be the hash key; put what it needs into one type",
                )),
                None => Ok(()),
            }
        }
        "idempotent" => Err(misplaced(&option, "the method")),
        _ => Err(option.unknown("hash")),
    }
}

/// Takes the `#[rpc(..)]` attributes out and returns their options.
fn rpc_options(attributes: &mut Vec<Attribute>, errors: &mut Vec<Error>) -> Vec<Opt> {
    let mut found = Vec::new();
    for attribute in attributes.extract_if(.., |it| it.path().is_ident("rpc") || hides(it)) {
        match &attribute.meta {
            _ if hides(&attribute) => errors.push(Error::new_spanned(
                &attribute,
                "`cfg` and `rpc` cannot be inside `cfg_attr`: it is resolved after `#[rpc_service]`",
            )),
            Meta::List(list) if !list.tokens.is_empty() => {
                found.extend(options(list.tokens.clone(), errors));
            }
            _ => errors.push(Error::new_spanned(
                &attribute,
                "expected an option: `#[rpc(idempotent)]` on a method, `#[rpc(hash)]` on an argument",
            )),
        }
    }
    found
}

/// Whether the attribute holds others that this macro had to see.
fn hides(attribute: &Attribute) -> bool {
    let inner = Punctuated::<Meta, Token![,]>::parse_terminated;
    attribute.path().is_ident("cfg_attr")
        && attribute.parse_args_with(inner).is_ok_and(|metas| {
            let mut hidden = metas.iter().skip(1).map(Meta::path);
            hidden.any(|it| it.is_ident("cfg") || it.is_ident("rpc"))
        })
}

fn misplaced(option: &Opt, place: &str) -> Error {
    let message = format!("`{}` belongs on {place}", option.name);
    Error::new_spanned(&option.name, message)
}

/// The argument's name with a span in which only generated code can see it.
fn hygienic(pattern: &Pat, position: usize) -> Ident {
    match pattern {
        Pat::Ident(pattern) => {
            let mut ident = pattern.ident.clone();
            ident.set_span(ident.span().resolved_at(Span::mixed_site()));
            ident
        }
        _ => format_ident!("argument{position}", span = Span::mixed_site()),
    }
}

fn invalid_name(name: &str) -> Option<&'static str> {
    let odd = |it: char| it.is_whitespace() || it.is_control() || it == '/';
    if name.is_empty() {
        Some("a service needs a name that is not empty")
    } else if name.contains(odd) {
        Some("a service's name must be free of white space, control characters and `/`")
    } else {
        None
    }
}

fn not_a_trait(item: &Item) -> Error {
    let error = |at: &dyn quote::ToTokens, kind: &str| {
        Error::new_spanned(at, format!("`#[rpc_service]` goes on a trait, not on {kind}"))
    };
    match item {
        Item::Struct(item) => error(&item.ident, "a struct"),
        Item::Enum(item) => error(&item.ident, "an enum"),
        Item::Fn(item) => error(&item.sig.ident, "a function"),
        Item::Impl(item) => error(&item.self_ty, "an impl block"),
        Item::Mod(item) => error(&item.ident, "a module"),
        other => error(other, "this item"),
    }
}
