//! Where a Brand is served (PACT §2.1, §5.1). Every absolute URL is built here, from configuration alone and never from
//! what a request says of its host.

use url::Url;

use super::brand::Brand;

/// Where one Brand is served.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// `{public_url}/a2a/{brandId}` (PACT §2.1).
    pub interface_url: String,
    /// The issuer of the Brand's authorization server (RFC 8414 §2).
    pub issuer: String,
}

impl Addresses {
    /// The addresses of `brand` under `public_url`, which has no trailing slash.
    pub fn of(public_url: &str, brand: &Brand) -> Self {
        let interface_url = format!("{public_url}/a2a/{}", brand.id);
        let auth_origin = brand.delegation.as_ref().and_then(|delegation| delegation.auth_origin.as_ref());
        let issuer = match auth_origin {
            Some(origin) => origin.origin().ascii_serialization(),
            None => format!("{interface_url}/oauth"),
        };
        Self { interface_url, issuer }
    }

    /// The consent page, which is also the assertion's `aud`.
    pub fn consent_url(&self) -> String {
        self.under_issuer("consent")
    }

    /// The User's own list of grants, which is also the `aud` of the assertion that opens it.
    pub fn grants_url(&self) -> String {
        self.under_issuer("grants")
    }

    /// A path under the issuer.
    pub fn under_issuer(&self, path: &str) -> String {
        format!("{}/{path}", self.issuer)
    }

    /// The Brand's card (PACT §2.1).
    pub fn card_url(&self) -> String {
        format!("{}/.well-known/agent-card.json", self.interface_url)
    }

    /// The link to the Brand's login that comes back to the consent page, with `user_code` where one is given
    /// (RFC 8628 §3.2, PACT §5.3). Whatever query `login_url` has is kept.
    pub fn verification_uri(&self, login_url: &Url, user_code: Option<&str>) -> String {
        let return_to = match user_code {
            Some(code) => format!("{}?user_code={code}", self.consent_url()),
            None => self.consent_url(),
        };
        returning(login_url, &return_to)
    }

    /// The link to the Brand's login that comes back to the User's list of grants.
    pub fn grants_login(&self, login_url: &Url) -> String {
        returning(login_url, &self.grants_url())
    }
}

fn returning(login_url: &Url, return_to: &str) -> String {
    let mut link = login_url.clone();
    link.query_pairs_mut().append_pair("return_to", return_to);
    link.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::samples;

    #[test]
    fn a_brand_without_an_origin_of_its_own_is_served_under_its_interface() {
        let brand = samples::brand();
        let addresses = Addresses::of("https://provider.example.com", &brand);
        assert_eq!(addresses.interface_url, format!("https://provider.example.com/a2a/{}", brand.id));
        assert_eq!(addresses.issuer, format!("{}/oauth", addresses.interface_url));
        assert_eq!(addresses.consent_url(), format!("{}/consent", addresses.issuer));
    }

    #[test]
    fn an_auth_origin_is_the_issuer_without_a_trailing_slash() {
        let mut brand = samples::brand();
        brand.delegation.as_mut().unwrap().auth_origin = Some(Url::parse("https://auth.brand.example").unwrap());
        let addresses = Addresses::of("https://provider.example.com", &brand);
        assert_eq!(addresses.issuer, "https://auth.brand.example");
        assert_eq!(addresses.consent_url(), "https://auth.brand.example/consent");
    }

    #[test]
    fn the_login_link_of_the_list_of_grants_comes_back_to_it() {
        let addresses = Addresses::of("https://provider.example.com", &samples::brand());
        let login = Url::parse("https://shop.example/login?lang=de").unwrap();
        let link = Url::parse(&addresses.grants_login(&login)).unwrap();
        let (name, return_to) = link.query_pairs().last().unwrap();
        assert_eq!((name.as_ref(), return_to.as_ref()), ("return_to", addresses.grants_url().as_str()));
        assert_eq!(addresses.grants_url(), format!("{}/grants", addresses.issuer));
    }

    #[test]
    fn the_login_link_keeps_the_query_that_the_login_has() {
        let brand = samples::brand();
        let addresses = Addresses::of("https://provider.example.com", &brand);
        let login = Url::parse("https://shop.example/login?lang=de&x=%26").unwrap();
        let link = Url::parse(&addresses.verification_uri(&login, Some("WDJB-MJHT"))).unwrap();
        let pairs: Vec<(String, String)> = link.query_pairs().into_owned().collect();
        assert_eq!(
            pairs,
            [
                ("lang".to_owned(), "de".to_owned()),
                ("x".to_owned(), "&".to_owned()),
                ("return_to".to_owned(), format!("{}?user_code=WDJB-MJHT", addresses.consent_url())),
            ]
        );
    }
}
