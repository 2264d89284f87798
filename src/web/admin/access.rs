//! The role and the Brands that an owner chose in a form.

use std::collections::BTreeSet;

use crate::domain::administrator::{Access, Reach, Role};
use crate::domain::id::BrandId;
use crate::web::extract::strict_form::Form;
use crate::web::pages::admin::{TypedAccess, Wrong};

/// What may come more than once in such a form.
pub(super) const REPEATABLE: &[&str] = &["brand"];

/// What was chosen, right or wrong.
pub(super) fn typed_access(form: &Form) -> TypedAccess {
    TypedAccess {
        role: form.one("role").unwrap_or_default().to_owned(),
        all: form.one("all").is_some(),
        brands: form.all("brand").map(str::to_owned).collect(),
    }
}

/// What that means.
///
/// # Errors
/// What is wrong with it, by the name of the field.
pub(super) fn chosen_access(typed: &TypedAccess) -> Result<Access, Wrong> {
    let role: Role = typed.role.parse().map_err(|error| Wrong::input(format!("role: {error}")))?;
    let reach = match (typed.all, typed.brands.is_empty()) {
        (true, true) => Reach::All,
        (false, false) => {
            let brands = typed.brands.iter().map(|id| BrandId::parse(id.as_str()));
            let brands: Result<BTreeSet<BrandId>, _> = brands.collect();
            Reach::Brands(brands.map_err(|error| Wrong::input(format!("brand: {error}")))?)
        }
        (true, false) => return Err(Wrong::input("brand: choose either all Brands or some of them")),
        (false, true) => return Err(Wrong::input("brand: choose all Brands, or at least one of them")),
    };
    Ok(Access { role, reach })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::extract::strict_form::parse;

    fn chosen(form: &str) -> Result<Access, String> {
        chosen_access(&typed_access(&parse(form.as_bytes(), REPEATABLE).unwrap())).map_err(|wrong| wrong.words)
    }

    #[test]
    fn a_role_holds_at_all_brands_or_at_those_that_are_chosen_and_never_at_none() {
        let brand = "01M3R53Q5SZQ6FQSMSDBSSREAA";
        assert_eq!(chosen("role=owner&all=yes"), Ok(Access::EVERYTHING));
        let one = chosen(&format!("role=auditor&brand={brand}&brand={brand}")).unwrap();
        assert_eq!((one.role, one.reach.to_text().as_str()), (Role::Auditor, brand));
        for (form, named) in [
            ("all=yes", "role:"),
            ("role=Owner&all=yes", "role:"),
            ("role=owner", "brand:"),
            ("role=owner&brand=x", "brand:"),
            (&format!("role=owner&all=yes&brand={brand}"), "brand:"),
        ] {
            assert!(chosen(form).unwrap_err().starts_with(named), "{form}");
        }
    }
}
