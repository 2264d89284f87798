//! The query of an address, read as strictly as a form: what two readers could read differently is refused, and so is what
//! nobody asked for. An empty value counts as absent, since a form that is sent by GET carries its empty fields.

use actix_web::HttpRequest;

use super::strict_form::{Form, FormProblem, Parameter, parse};

/// Why a query cannot be read; its text names the parameter and holds no value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum QueryProblem {
    /// As a form could not be.
    #[error(transparent)]
    Form(#[from] FormProblem),
    /// A parameter that there is not.
    #[error("{0} is not known here")]
    Unknown(Parameter),
}

/// The parameters of the request's query, each of which is one of `known` and comes once.
///
/// # Errors
/// [`QueryProblem`] names the parameter.
pub fn read_query(req: &HttpRequest, known: &[&str]) -> Result<Form, QueryProblem> {
    let form = parse(req.query_string().as_bytes(), &[])?;
    let unknown = form.names().find(|name| !known.contains(name)).map(|name| Parameter::new(name.as_bytes()));
    unknown.map_or(Ok(form), |unknown| Err(QueryProblem::Unknown(unknown)))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn read(query: &str) -> Result<Form, String> {
        let req = TestRequest::with_uri(&format!("/grants{query}")).to_http_request();
        read_query(&req, &["state", "user"]).map_err(|problem| problem.to_string())
    }

    #[test]
    fn known_parameters_are_read_and_empty_ones_count_as_absent() {
        for none in ["", "?", "?state=", "?&&user=&"] {
            assert_eq!(read(none).unwrap().one("state"), None, "{none}");
        }
        let form = read("?user=j%2Bk+l&state=").unwrap();
        assert_eq!((form.one("user"), form.one("state")), (Some("j+k l"), None));
    }

    #[test]
    fn what_is_unknown_repeated_or_broken_is_refused_by_its_name() {
        for (query, problem) in [
            ("?stat=live", "the parameter stat is not known here"),
            ("?stat=", "the parameter stat is not known here"),
            ("?%3Cb%3E=1", "a parameter is not known here"),
            ("?state=live&state=", "the parameter state is given more than once"),
            ("?state=%ff", "the parameter state is not UTF-8"),
            ("?state=%00", "the parameter state holds a NUL"),
            ("?state=%4", "the parameter state has a % without two hexadecimal digits after it"),
        ] {
            assert_eq!(read(query).unwrap_err(), problem, "{query}");
        }
    }
}
