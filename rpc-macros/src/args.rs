//! Option lists: `name = "user.UserService", crate = path` and `idempotent`.

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, LitStr, Path, Token};

/// The options of `#[rpc_service(..)]`.
#[derive(Default)]
pub(crate) struct ServiceArgs {
    /// The name on the wire; the trait's own where it is not given.
    pub(crate) name: Option<LitStr>,
    /// The path of the framework; `::rpc` where it is not given.
    pub(crate) krate: Option<Path>,
}

impl ServiceArgs {
    /// Reads the options, noting what is wrong with them in `errors`.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Vec<Error>) -> Self {
        let mut args = Self::default();
        for option in options(tokens, errors) {
            let stored = match option.name.to_string().as_str() {
                "name" => option.set(&mut args.name, "name = \"user.UserService\""),
                "crate" => option.set(&mut args.krate, "crate = path::to::rpc"),
                _ => Err(option.unknown("name, crate")),
            };
            errors.extend(stored.err());
        }
        args
    }
}

/// One entry of an option list: `name` or `name = value`.
pub(crate) struct Opt {
    /// What stands before the `=`.
    pub(crate) name: Ident,
    value: Option<TokenStream>,
}

impl Opt {
    /// Stores the value in `place`, which must be empty; `form` shows how the option is written.
    fn set<T: syn::parse::Parse>(self, place: &mut Option<T>, form: &str) -> Result<(), Error> {
        let wrong = |at: &dyn quote::ToTokens| Error::new_spanned(at, format!("expected `{form}`"));
        let Some(value) = self.value.filter(|value| !value.is_empty()) else {
            return Err(wrong(&self.name));
        };
        if place.is_some() {
            return Err(duplicate(&self.name));
        }
        *place = Some(syn::parse2(value.clone()).map_err(|_| wrong(&value))?);
        Ok(())
    }

    /// Sets `flag`, which must be unset and takes no value.
    pub(crate) fn flag(self, flag: &mut bool) -> Result<(), Error> {
        if let Some(value) = self.value {
            let message = format!("`{}` takes no value", self.name);
            return Err(Error::new_spanned(value, message));
        }
        if std::mem::replace(flag, true) {
            return Err(duplicate(&self.name));
        }
        Ok(())
    }

    /// The error for a name nobody knows.
    pub(crate) fn unknown(&self, known: &str) -> Error {
        let message = format!("unknown option `{}`; known here: {known}", self.name);
        Error::new_spanned(&self.name, message)
    }
}

/// Divides a list at its commas, noting a malformed one in `errors`.
pub(crate) fn options(tokens: TokenStream, errors: &mut Vec<Error>) -> Vec<Opt> {
    let parser = Punctuated::<Opt, Token![,]>::parse_terminated_with;
    let list = (|input: ParseStream<'_>| parser(input, option)).parse2(tokens);
    match list {
        Ok(list) => list.into_iter().collect(),
        Err(error) => {
            errors.push(error);
            Vec::new()
        }
    }
}

fn option(input: ParseStream<'_>) -> syn::Result<Opt> {
    let name = Ident::parse_any(input)?;
    let value = match input.parse::<Option<Token![=]>>()? {
        Some(_) => Some(value(input)?),
        None => None,
    };
    Ok(Opt { name, value })
}

fn value(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut value = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        value.extend([input.parse::<TokenTree>()?]);
    }
    Ok(value)
}

fn duplicate(name: &Ident) -> Error {
    Error::new_spanned(name, format!("option `{name}` is given twice"))
}
