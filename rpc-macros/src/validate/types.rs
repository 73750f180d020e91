//! What no argument and no result can be.

use syn::visit::{self, Visit};
use syn::{Error, Expr, Lifetime, Path, TypeImplTrait, TypeInfer, TypeReference};

/// Looks for what cannot be sent, anywhere in a type.
pub(super) struct Types<'a> {
    subject: &'static str,
    errors: &'a mut Vec<Error>,
}

impl<'a> Types<'a> {
    /// Looks for `subject`, noting what it finds in `errors`.
    pub(super) fn new(subject: &'static str, errors: &'a mut Vec<Error>) -> Self {
        Self { subject, errors }
    }

    fn refuse(&mut self, at: impl quote::ToTokens, what: &str) {
        let message = format!("{} {what}", self.subject);
        self.errors.push(Error::new_spanned(at, message));
    }
}

impl<'ast> Visit<'ast> for Types<'_> {
    fn visit_type_reference(&mut self, reference: &'ast TypeReference) {
        self.refuse(
            reference,
            "cannot be borrowed: use an owned type, such as `String` for `&str` or `Vec<T>` for `&[T]`",
        );
    }

    fn visit_type_impl_trait(&mut self, ty: &'ast TypeImplTrait) {
        self.refuse(ty, "cannot be `impl Trait`: name the type");
    }

    fn visit_type_infer(&mut self, ty: &'ast TypeInfer) {
        self.refuse(ty, "cannot be inferred: name the type");
    }

    /// Named lifetimes are refused where they are declared.
    fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
        if lifetime.ident == "_" {
            self.refuse(lifetime, "cannot have lifetimes: what is sent is owned");
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        match path.segments.first() {
            Some(first) if first.ident == "Self" => {
                self.refuse(path, "cannot be `Self`: stub and implementation are different types")
            }
            _ => visit::visit_path(self, path),
        }
    }

    /// Lengths of arrays are no types.
    fn visit_expr(&mut self, _: &'ast Expr) {}
}
