//! A request's body, read under a bound on its size and on its time.
//!
//! Refuses any `Content-Encoding`: what a few bytes inflate to cannot be bounded by counting them.

use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::error::PayloadError;
use actix_web::http::header;
use actix_web::web::{self, Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};

/// The largest JSON body. PACT leaves it to the Provider; one number for all of them lets a personal agent rely on it.
pub const MAX_JSON_BYTES: usize = 64 * 1024;

/// Why a body could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BodyProblem {
    /// More bytes than allowed.
    #[error("the body is too large")]
    TooLarge,
    /// A `Content-Encoding` other than `identity`.
    #[error("the body has a Content-Encoding")]
    Encoded,
    /// It did not arrive in time.
    #[error("the body did not arrive in time")]
    TooSlow,
    /// It ended early, or its chunks are malformed.
    #[error("the body is incomplete")]
    Broken,
}

/// Reads a JSON body of at most `max` bytes that arrives `within` a time, whatever its `Content-Type` says.
///
/// # Errors
/// [`BodyProblem`]; none of them has looked at the content.
pub async fn read_json_body(
    req: &HttpRequest,
    payload: web::Payload,
    max: usize,
    within: Duration,
) -> Result<Bytes, BodyProblem> {
    if is_encoded(req) {
        return Err(BodyProblem::Encoded);
    }
    read_bounded(req, payload, max, within).await
}

/// Whether the body is encoded in some way.
pub(super) fn is_encoded(req: &HttpRequest) -> bool {
    req.headers().get_all(header::CONTENT_ENCODING).any(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// Reads a body of at most `max` bytes that arrives `within` a time.
pub(super) async fn read_bounded(
    req: &HttpRequest,
    payload: impl Stream<Item = Result<Bytes, PayloadError>>,
    max: usize,
    within: Duration,
) -> Result<Bytes, BodyProblem> {
    let declared = req.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if declared.is_some_and(|length: u64| length > u64::try_from(max).unwrap_or(u64::MAX)) {
        return Err(BodyProblem::TooLarge);
    }
    tokio::time::timeout(within, read(payload, max)).await.unwrap_or(Err(BodyProblem::TooSlow))
}

async fn read(payload: impl Stream<Item = Result<Bytes, PayloadError>>, max: usize) -> Result<Bytes, BodyProblem> {
    let mut payload = std::pin::pin!(payload);
    let mut body = BytesMut::new();
    while let Some(chunk) = payload.next().await {
        let chunk = chunk.map_err(|_| BodyProblem::Broken)?;
        if chunk.len() > max.saturating_sub(body.len()) {
            return Err(BodyProblem::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;
    use futures_util::stream;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    fn chunks(chunks: &[&'static str]) -> impl Stream<Item = Result<Bytes, PayloadError>> {
        stream::iter(chunks.iter().map(|chunk| Ok(Bytes::from_static(chunk.as_bytes()))).collect::<Vec<_>>())
    }

    // case 64
    #[actix_web::test]
    async fn chunks_are_put_together_up_to_the_bound() {
        let req = TestRequest::default().to_http_request();
        assert_eq!(read_bounded(&req, chunks(&["ab", "cd"]), 4, SOON).await.unwrap(), "abcd");
        assert_eq!(read_bounded(&req, chunks(&["ab", "cde"]), 4, SOON).await, Err(BodyProblem::TooLarge));
        assert_eq!(read_bounded(&req, chunks(&[]), 4, SOON).await.unwrap(), "");
    }

    // case 64
    #[actix_web::test]
    async fn a_body_that_is_announced_too_large_is_not_read() {
        let req = TestRequest::default().insert_header((header::CONTENT_LENGTH, "5")).to_http_request();
        assert_eq!(read_bounded(&req, stream::pending(), 4, SOON).await, Err(BodyProblem::TooLarge));
    }

    // case 79
    #[actix_web::test]
    async fn a_body_that_does_not_end_or_breaks_off_is_refused() {
        let req = TestRequest::default().to_http_request();
        let endless = chunks(&["a"]).chain(stream::pending());
        assert_eq!(read_bounded(&req, endless, 4, SOON).await, Err(BodyProblem::TooSlow));
        let broken = chunks(&["a"]).chain(stream::iter([Err(PayloadError::Incomplete(None))]));
        assert_eq!(read_bounded(&req, broken, 4, SOON).await, Err(BodyProblem::Broken));
    }

    // case 64
    #[test]
    fn every_encoding_but_identity_counts() {
        for (value, encoded) in [("gzip", true), ("identity", false), ("Identity", false), ("identity, gzip", true)] {
            let req = TestRequest::default().insert_header((header::CONTENT_ENCODING, value)).to_http_request();
            assert_eq!(is_encoded(&req), encoded, "{value}");
        }
    }
}
