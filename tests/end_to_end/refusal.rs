//! What a refusal looks like: every error of the API is `application/problem+json` with a stable `code`.

use reqwest::RequestBuilder;
use serde_json::Value;

/// That a request is refused as every error of the API is: status, media type, and the members of RFC 9457 with this code.
#[track_caller]
pub(crate) fn refused(
    what: &str,
    request: RequestBuilder,
    status: u16,
    code: &str,
) -> impl Future<Output = Value> + use<> {
    let (what, code) = (what.to_owned(), code.to_owned());
    let caller = std::panic::Location::caller();
    async move {
        let response = request.send().await.expect("the arena answers");
        let (came, kind) = (response.status().as_u16(), response.headers().get("content-type").cloned());
        let text = response.text().await.expect("the answer is text");
        let context = format!("{what} ({caller}): {came} {text}");
        assert_eq!(came, status, "{context}");
        assert_eq!(kind.expect("a content-type"), "application/problem+json", "{context}");
        let problem: Value = serde_json::from_str(&text).expect("a problem is JSON");
        assert_eq!(problem["code"], code.as_str(), "{context}");
        assert_eq!(problem["status"], status, "{context}");
        for member in ["type", "title", "detail"] {
            assert!(problem[member].as_str().is_some_and(|text| !text.is_empty()), "{member} of {context}");
        }
        problem
    }
}
