//! One Brand's part of a file: as text to be changed, and read back as that and nothing else.

use serde::Serialize;

use super::{ApplyFile, BrandTable, parse};
use crate::domain::brand::Brand;
use crate::domain::id::BrandId;

#[derive(Serialize)]
struct Written {
    brand: [BrandTable; 1],
}

/// The part of a file that says what `brand` is.
///
/// # Errors
/// What TOML has no form for: a `null` inside a JWK of the Brand's login.
pub fn written(brand: &Brand) -> Result<String, String> {
    let table = BrandTable {
        id: Some(brand.id.clone()),
        name: brand.name.clone(),
        description: brand.profile.description.clone(),
        version: brand.profile.version.clone(),
        skills: brand.profile.skills.clone(),
        agent: brand.profile.agent.clone(),
        delegation: brand.delegation.clone(),
        makes: false,
        seen: None,
    };
    toml::to_string(&Written { brand: [table] }).map_err(|error| error.to_string())
}

/// Reads a text that is one Brand's part of a file: of `own`, or of a Brand that has no id yet.
///
/// # Errors
/// What is wrong, by its line or the name of the parameter.
pub fn one_brand(text: &str, own: Option<&BrandId>) -> Result<ApplyFile, String> {
    let file = parse(text)?;
    if !file.personal_agent.is_empty() {
        return Err("personal_agent: has no place here, only one [[brand]]".to_owned());
    }
    let [table] = file.brand.as_slice() else {
        return Err(format!("brand: expected one [[brand]], found {}", file.brand.len()));
    };
    match (own, &table.id) {
        (Some(own), given) if given.as_ref() != Some(own) => {
            Err(format!("brand[0].id: must stay {own}, the id of the Brand that is changed here"))
        }
        (None, Some(_)) => Err("brand[0].id: has no place here, since a new Brand gets a new id".to_owned()),
        _ => Ok(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::samples;

    const EXAMPLE: &str = include_str!("../../../../assent.apply.example.toml");

    fn brand(table: &BrandTable) -> Brand {
        let BrandTable { id, name, description, version, skills, agent, delegation, makes: _, seen: _ } = table.clone();
        let profile = crate::domain::brand::Profile { description, version, skills, agent };
        Brand { id: id.unwrap(), name, profile, delegation }
    }

    #[test]
    fn a_brand_that_is_written_is_read_as_it_was() {
        let example = brand(&parse(EXAMPLE).unwrap().brand[0]);
        let plain = Brand { delegation: None, ..samples::brand() };
        let mut inline = samples::brand();
        let keys = serde_json::json!({ "keys": [{ "kty": "EC", "crv": "P-256", "x": "a", "y": "b" }] });
        if let Some(delegation) = &mut inline.delegation {
            delegation.assertion.jwks_uri = None;
            delegation.assertion.jwks = Some(keys);
        }
        for whole in [example, samples::brand(), plain, inline] {
            let text = written(&whole).unwrap();
            let file = one_brand(&text, Some(&whole.id)).unwrap();
            assert_eq!(brand(&file.brand[0]), whole, "{text}");
        }
    }

    #[test]
    fn a_text_of_another_brand_of_several_or_of_personal_agents_is_refused_by_name() {
        let (own, text) = (samples::brand(), written(&samples::brand()).unwrap());
        let twice = format!("{text}\n{text}");
        for (text, given, expected) in [
            (EXAMPLE, Some(&own.id), "personal_agent:"),
            ("", Some(&own.id), "brand:"),
            (twice.as_str(), Some(&own.id), "brand:"),
            (text.as_str(), None, "brand[0].id:"),
            (&text.replace(own.id.as_str(), "01M3R53Q5SZQ6FQSMSDBSSREAB"), Some(&own.id), "brand[0].id:"),
            ("x = 1", None, "unknown field `x`"),
        ] {
            let problem = one_brand(text, given).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
